"""Retrievers for other frameworks, each in a module of its own that needs its own extra.

from prefdex_client.integrations.langchain import PrefdexRetriever    # pip install 'prefdex[client,langchain]'
from prefdex_client.integrations.llamaindex import PrefdexRetriever   # pip install 'prefdex[client,llamaindex]'
"""
