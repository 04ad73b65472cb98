"""What builder and device both do.

Records, ids, chunking, filtering, judging, writing, vectors, steering, the shard, the bundle, and trust. Imports
numpy, msgpack and TUF, and nothing heavier; an encoder's model is loaded by the libraries that its module imports
when it is asked to.
"""
