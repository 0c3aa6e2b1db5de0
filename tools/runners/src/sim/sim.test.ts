import { expect, test } from 'vitest';

import { collectOutput, scratchRepository } from '../common/scratch.fixture.ts';
import { simCommand } from './command.ts';
import { defineSim } from './define.ts';
import { allEvents, runEvents } from './run.ts';
import { shrinkList } from './shrink.ts';

interface Counter {
  value: number;
  readonly history: string[];
}

const counting = defineSim<Counter>({
  name: 'counting',
  about: 'Counts.',
  init: () => ({ value: 0, history: [] }),
  actions: {
    add: {
      weight: 3,
      run(state, random) {
        const step = random.int(1, 9);
        state.value += step;
        state.history.push(`+${step}`);
      },
    },
    drop: { weight: 1, when: (state) => state.value > 20, run: (state) => void (state.value -= 20) },
  },
  validators: { 'stays below 40': (state) => (state.value < 40 ? undefined : `it is ${state.value}`) },
});

test('runEvents: the same seed always gives the same run and failure', async () => {
  const first = await runEvents(counting, 11, allEvents(5000));
  const second = await runEvents(counting, 11, allEvents(5000));
  expect(first.failure?.where).toBe('stays below 40');
  expect(second).toEqual(first);
});

test('runEvents: the events up to a failure reproduce it', async () => {
  const { failure } = await runEvents(counting, 11, allEvents(5000));
  const again = await runEvents(counting, 11, allEvents((failure?.event ?? 0) + 1));
  expect(again.failure).toEqual(failure);
});

test('runEvents: an event makes the same choices whichever other events are left out', async () => {
  const histories: string[][] = [];
  const watching = defineSim<Counter>({
    ...(counting as unknown as Parameters<typeof defineSim<Counter>>[0]),
    validators: {},
    close: (state) => void histories.push(state.history),
  });
  await runEvents(watching, 3, [0, 1, 2, 3]);
  await runEvents(watching, 3, [2, 3]);
  expect(histories[0]?.slice(2)).toEqual(histories[1]);
});

test('runEvents: calls close, also after a failure', async () => {
  let open = 0;
  const leaky = defineSim<object>({
    name: 'leaky',
    about: '',
    init: () => ((open += 1), {}),
    actions: { fail: { weight: 1, run: () => Promise.reject(new Error('broke')) } },
    validators: {},
    close: () => void (open -= 1),
  });
  const { failure } = await runEvents(leaky, 1, allEvents(3));
  expect(failure).toEqual({ event: 0, action: 'fail', where: 'fail', message: 'broke' });
  expect(open).toBe(0);
});

test('shrinkList: returns the smallest list that still fails', async () => {
  const needed = [17, 402, 777];
  const shrunk = await shrinkList(
    allEvents(1000),
    async (candidate) => Promise.resolve(needed.every((event) => candidate.includes(event))),
    1000,
  );
  expect(shrunk).toEqual(needed);
});

const file = `
export const sim = {
  name: 'clock', about: 'A clock that stops.',
  init: () => ({ ticks: 0 }),
  actions: { tick: { weight: 1, run: (state) => { state.ticks += 1; } } },
  validators: { 'ticks below 50': (state) => state.ticks < 50 ? undefined : 'stopped' },
};`;
const placeIn = (root: string) => ({ root, folder: 'tests/sim', suffix: '.sim.mjs', exportName: 'sim' });

test('sim: prints seed, event, failure and the command that repeats it', async () => {
  using scratch = scratchRepository({ 'tests/sim/clock.sim.mjs': file });
  const output = collectOutput();
  const code = await simCommand(placeIn(scratch.root), ['clock', '--seed', '9', '--events', '100'], output);
  expect(code).toBe(1);
  expect(output.lines[0]).toBe('clock: seed 9 FAILED at event 49 (tick): ticks below 50: stopped');
  expect(output.lines.at(-1)).toBe('  run again: npm run sim -- clock --seed 9 --events 50');
});

test('sim: prints the seed and exits with 0 if no rule is violated', async () => {
  using scratch = scratchRepository({ 'tests/sim/clock.sim.mjs': file });
  const output = collectOutput();
  const place = placeIn(scratch.root);
  expect(await simCommand(place, ['clock', '--seed', '9', '--events', '40'], output)).toBe(0);
  expect(output.lines).toEqual(['clock: seed 9, 40 events, no rule violated (tick 40)']);
  expect(await simCommand(place, ['--list'], output)).toBe(0);
  expect(output.lines.at(-1)).toBe('clock');
});

test('sim --all: runs every simulation and prints both counts', async () => {
  using scratch = scratchRepository({
    'tests/sim/clock.sim.mjs': file,
    'tests/sim/watch.sim.mjs': file.replace("'clock'", "'watch'").replace('< 50', '< 500'),
  });
  const output = collectOutput();
  expect(await simCommand(placeIn(scratch.root), ['--all', '--seed', '1', '--events', '100'], output)).toBe(
    1,
  );
  expect(output.lines.at(-1)).toBe('1 passed, 1 failed');
});

test('sim --all: uses ciEvents of a simulation, which a single run ignores', async () => {
  using scratch = scratchRepository({
    'tests/sim/clock.sim.mjs': file.replace("name: 'clock'", "name: 'clock', ciEvents: 30"),
    'tests/sim/watch.sim.mjs': file.replace("'clock'", "'watch'"),
  });
  const output = collectOutput();
  const place = placeIn(scratch.root);
  expect(await simCommand(place, ['--all', '--seed', '1', '--events', '20'], output)).toBe(0);
  expect(output.lines.slice(0, 2)).toEqual([
    'clock: seed 1, 30 events, no rule violated (tick 30)',
    'watch: seed 1, 20 events, no rule violated (tick 20)',
  ]);
  await simCommand(place, ['clock', '--seed', '1', '--events', '10'], output);
  expect(output.lines.at(-1)).toBe('clock: seed 1, 10 events, no rule violated (tick 10)');
});

test('sim: refuses an unknown name and an invalid number with a hint', async () => {
  using scratch = scratchRepository({ 'tests/sim/clock.sim.mjs': file });
  const place = placeIn(scratch.root);
  const output = collectOutput();
  await expect(simCommand(place, ['clok'], output)).rejects.toThrow('existing names: clock');
  await expect(simCommand(place, ['clock', '--seed', '1.5'], output)).rejects.toThrow(
    '--seed takes a whole number',
  );
});
