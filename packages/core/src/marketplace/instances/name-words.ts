/** Words of instance names. Each is lower-case ASCII and occurs once. */

const splitWords = (text: string): readonly string[] => text.trim().split(/\s+/);

export const adjectives: readonly string[] = splitWords(`
  able agile airy amber ample apt arctic ashen autumn azure balmy bold brave breezy bright brisk bronze
  calm candid careful casual cheery chief civil clean clear clever coastal cobalt cool copper coral
  cosmic cosy crimson crisp curious dapper daring dawning deep deft dewy distant dusty eager early
  earnest easy elder emerald equal even exact fabled fair famous fast fearless fine firm fleet floral
  fluent fond frank free fresh frosty gentle genuine gifted glad gleaming golden grand granite grateful
  green hale handy happy hardy hazel hearty hidden high honest humble ideal indigo inland ivory jade
  jolly jovial keen kind lasting lavish level light lilac linen little lively lofty loyal lucid lucky
  lunar magic major marble mellow merry mighty mild mindful mint misty modern modest mossy musical native
  neat nimble noble northern novel oaken open orderly pale patient peaceful pearl plain playful pleasant
  plucky polar polite prime proper proud prudent pure quick quiet rapid rare ready regal rested robust
  rosy round royal ruby rustic safe sandy scarlet serene shady sharp silent silken silver simple sincere
  sleek smooth snowy social solar solid southern spare spirited spry stable starry steady stellar still
  stout sturdy subtle sunny supple sure swift tall tender thankful thorough tidal tidy timely tranquil
  true trusty upbeat upland urban useful valiant vast velvet vivid warm wary western whole willing windy
  winged wise witty woven young zesty
`);

export const nouns: readonly string[] = splitWords(`
  acorn alder almond amulet anchor anvil apple apricot arbor arch aspen aster atlas badger bagel bamboo
  banjo barley basil basin bay beacon bean bear beaver beech beetle bell birch bison bloom bluff boat
  bobcat bonsai bramble breeze brook bugle burrow butte cabin cactus camel canal canary candle canoe
  canyon caper cardinal caribou carob carp castle cedar cello cherry chestnut cicada cider cinder citron
  clam clover cobble comet compass condor coot cove coyote crane crater creek cress cricket crow curlew
  cypress dahlia daisy dale delta dingo dolphin dory dove drum dune eagle echo eel egret elk elm ember
  ermine falcon fawn fern ferry fiddle field fig finch fir fjord flame flax flint flute fog forest fossil
  fox frog garnet gazelle gecko geyser ginger glacier glade goose gorge grape grebe grove gull hamlet
  harbor hare harp hawk hazelnut heath hedge heron hickory hill holly honey hornet ibex ibis inlet iris
  island ivy jackal jasmine jay juniper kayak kelp kestrel kettle kite kiwi koala lagoon lake lantern
  larch lark laurel lava leaf lemon lemur lentil lily linden lion llama lobster locust loom lotus lynx
  magnolia magpie mango mantis maple marlin marmot marsh marten meadow melon merlin mesa meteor minnow
  mole moon moose moss moth mountain mulberry nebula nectar nettle newt nutmeg oak oasis oat ocelot olive
  onyx opal orbit orchard orchid oriole osprey otter owl oyster panda papaya parrot peach pear pebble
  pelican penguin peony pepper petal pheasant pigeon pine plover plum pond poplar poppy prairie puffin
  quail quarry quartz quill quince rabbit raccoon radish rain raven reef ridge river robin rook rose
  rowan saffron sage salmon sandpiper sapling sequoia shell shore shrew skylark slate sloth snail sparrow
  spruce squirrel starling stork stream summit sunrise swallow swan sycamore tapir tern thicket thistle
  thrush thyme tiger toad topaz torch toucan trail trout tulip tundra turnip turtle valley vine violet
  vole walnut walrus warbler weasel whale wheat willow wren yak yarrow yew zebra zinnia
`);
