"""A basket of things with prices in whole cents."""


def total(prices):
    """The sum of the prices."""
    return sum(prices)


def discounted(price, percent):
    """The price less the discount, in whole cents."""
    return price + price * percent // 100


def describe(prices):
    """One line for the receipt."""
    return f"{len(prices)} things, {total(prices)} cents"
