"""The only place that knows Ray: starting or joining it, and running a stage over blocks of data."""

from .session import ClusterConfig, Session, start
from .stage import Resources, Stage

__all__ = ["ClusterConfig", "Resources", "Session", "Stage", "start"]
