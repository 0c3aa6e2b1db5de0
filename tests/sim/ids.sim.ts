import { defineSim } from '@millrace/runners';
import type { Random } from '@millrace/runners';
import { SimulatedClock } from '@millrace/platform/clock';
import { cellOf, createIdSource, fromUuid, parseId, toUuid } from '@millrace/platform/ids';
import type { IdSource, OrgId } from '@millrace/platform/ids';

/** A process that creates ids. Its clock can differ from those of other processes. */
interface IdProcess {
  readonly cell: number;
  readonly clock: SimulatedClock;
  source: IdSource;
  last: string;
}

interface State {
  readonly makers: readonly IdProcess[];
  readonly seen: Set<string>;
  /** Created since the last validation. */
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
  about:
    'Finds ids that repeat, sort backwards or name another cell, which could give one tenant a row of another.',
  init(random) {
    // The three processes of cell 7 are distinguished only by random bits.
    const makers = [7, 7, 7, 0, 1023].map((cell, index) => {
      const clock = new SimulatedClock();
      return { cell, clock, source: startSource(cell, clock, random.fork(index)), last: '' };
    });
    return { makers, seen: new Set(), fresh: [] };
  },
  actions: {
    makeOne: { weight: 60, run: (state, random) => makeIds(state, random.pick(state.makers), 1) },
    // A burst overflows the counter, so the source takes ids from the next millisecond.
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
    'each id sorts after the previous id of its process'(state) {
      const back = state.fresh.find(({ id, previous }) => id <= previous);
      return back && `${back.id} came after ${back.previous}`;
    },
    'each id names its cell and survives conversion to SQL and back'(state) {
      const bad = state.fresh.find(
        ({ id, maker }) =>
          cellOf(id) !== maker.cell || parseId('org', id) !== id || fromUuid('org', toUuid(id)) !== id,
      );
      return bad && `${bad.id} of cell ${bad.maker.cell}`;
    },
    'no id is created twice'(state) {
      for (const { id } of state.fresh) {
        if (state.seen.has(id)) return `${id} was created twice`;
        state.seen.add(id);
      }
      state.fresh = [];
      return undefined;
    },
  },
});
