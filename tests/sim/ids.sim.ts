import { defineSim } from '@millrace/runners';
import type { Random } from '@millrace/runners';
import { SimulatedClock } from '@millrace/platform/clock';
import { cellOf, createIdSource, fromUuid, parseId, toUuid } from '@millrace/platform/ids';
import type { IdSource, OrgId } from '@millrace/platform/ids';

/** One process that makes ids, with a clock of its own that need not agree with the others'. */
interface IdProcess {
  readonly cell: number;
  readonly clock: SimulatedClock;
  source: IdSource;
  last: string;
}

interface State {
  readonly makers: readonly IdProcess[];
  readonly seen: Set<string>;
  /** Made since the validators last looked. */
  fresh: { id: OrgId; maker: IdProcess; previous: string }[];
}

const fillFrom = (random: Random) => (bytes: Uint8Array) => {
  for (let index = 0; index < bytes.length; index += 1) bytes[index] = random.int(0, 255);
};

const startSource = (cell: number, clock: SimulatedClock, random: Random): IdSource =>
  createIdSource({ clock, cell, random: fillFrom(random) });

function makeIds(state: State, maker: IdProcess, count: number): void {
  for (let made = 0; made < count; made += 1) {
    const id = maker.source.next('org');
    state.fresh.push({ id, maker, previous: maker.last });
    maker.last = id;
  }
}

export const sim = defineSim<State>({
  name: 'ids',
  about: 'An id that repeats, goes back or names another cell would hand one tenant the row of another.',
  init(random) {
    // Three processes of one cell and one each of two others: the first three may differ by random bits alone.
    const makers = [7, 7, 7, 0, 1023].map((cell, index) => {
      const clock = new SimulatedClock();
      return { cell, clock, source: startSource(cell, clock, random.fork(index)), last: '' };
    });
    return { makers, seen: new Set(), fresh: [] };
  },
  actions: {
    makeOne: { weight: 60, run: (state, random) => makeIds(state, random.pick(state.makers), 1) },
    // More than the counter holds: the source has to borrow from the next millisecond.
    burst: {
      weight: 0.2,
      run: (state, random) => makeIds(state, random.pick(state.makers), random.int(2000, 9000)),
    },
    timePasses: {
      weight: 20,
      run: async (state, random) => random.pick(state.makers).clock.advance(random.int(0, 3)),
    },
    clockSteps: {
      weight: 10,
      run: (state, random) => random.pick(state.makers).clock.stepWallClock(random.int(-5000, 5000)),
    },
    restart: {
      weight: 2,
      run(state, random) {
        const maker = random.pick(state.makers);
        maker.source = startSource(maker.cell, maker.clock, random);
        maker.last = '';
      },
    },
  },
  validators: {
    'each id sorts after the one made before it'(state) {
      const back = state.fresh.find(({ id, previous }) => id <= previous);
      return back && `${back.id} came after ${back.previous}`;
    },
    'each id names its cell and survives the way to SQL and back'(state) {
      const bad = state.fresh.find(
        ({ id, maker }) =>
          cellOf(id) !== maker.cell || parseId('org', id) !== id || fromUuid('org', toUuid(id)) !== id,
      );
      return bad && `${bad.id} of cell ${bad.maker.cell}`;
    },
    'no id is made twice'(state) {
      for (const { id } of state.fresh) {
        if (state.seen.has(id)) return `${id} was made twice`;
        state.seen.add(id);
      }
      state.fresh = [];
      return undefined;
    },
  },
});
