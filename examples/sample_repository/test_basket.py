from basket import describe, discounted, total

assert total([100, 250]) == 350
assert describe([100, 250]) == "2 things, 350 cents"
assert discounted(200, 10) == 180, discounted(200, 10)
print("all tests pass")
