"""Searches larger than one machine: shards of an index range on Dask's scheduler, with a journal that survives everything."""
