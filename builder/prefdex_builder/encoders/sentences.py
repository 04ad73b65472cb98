"""Sentences whose vectors show whether two encoders agree: short and long, plain and technical, in several scripts."""

GOLDEN = (
    "I never eat meat, and I like to cook with beans.",
    "Which family car has the lowest running costs?",
    "The committee postponed its decision until the spring.",
    "Dogs that live in flats need two long walks a day.",
    "Strength training twice a week slows the loss of muscle with age.",
    "A compiler translates a program from one language into another.",
    "Boil the lentils for twenty minutes, drain them, and fold in the chopped parsley, the lemon juice and the oil.",
    "Volcanic soil holds water well and is rich in minerals, which is why farmers settle on the slopes of volcanoes "
    "although an eruption may destroy a harvest, a house or a whole village at any time.",
    "cheap flights to lisbon in november",
    "What is 3.5 % of 1,200?",
    "Die Bahn fährt stündlich, am Wochenende alle zwei Stunden.",
    "東京の地下鉄は世界で最も利用者が多い路線網の一つです。",
)
"""Go into the encoder folder with their vectors."""

PARITY = (
    *GOLDEN,
    "I prefer board games that can be finished within an hour.",
    "The orchestra tuned, the lights went down, and nobody coughed.",
    "Please recommend a laptop with a matt screen for working outdoors.",
    "Photosynthesis converts light into chemical energy that the plant stores as sugar.",
    "no gluten, no nuts, nothing deep-fried",
    "In 1905 he published four papers, each of which would have made another physicist famous.",
    "How do I keep a cat off the kitchen table without shouting at it?",
    "An index fund spreads a small sum over hundreds of companies; in exchange, it never beats the market.",
    "Le musée est fermé le mardi.",
    "Swim",
)
"""Compared between the exported encoder and its source."""
