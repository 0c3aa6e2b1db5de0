import { expect, it } from 'vitest';
import { playgroundKeyName } from '../playground/gateway.ts';
import { dismiss, hasOwnKey, isComplete, isDismissed, onboardingSteps } from './onboarding.ts';

const nothing = {
  mode: 'live',
  hasKey: false,
  hasMoney: false,
  hasMachine: false,
  hasRequest: false,
} as const;
const doneIn = (facts: Parameters<typeof onboardingSteps>[0]) =>
  onboardingSteps(facts).flatMap(({ id, isDone }) => (isDone ? [id] : []));

it('every step is done by its own fact, and test mode needs no money', () => {
  expect(doneIn(nothing)).toEqual([]);
  expect(doneIn({ ...nothing, mode: 'test' })).toEqual(['money']);
  expect(doneIn({ ...nothing, hasKey: true, hasMachine: true })).toEqual(['key', 'machine']);
  const all = { ...nothing, hasKey: true, hasMoney: true, hasMachine: true, hasRequest: true };
  expect(isComplete(onboardingSteps(all))).toBe(true);
  expect(isComplete(onboardingSteps({ ...all, hasRequest: false }))).toBe(false);
  expect(isComplete(onboardingSteps({ ...all, mode: 'test', hasRequest: false }))).toBe(true);
});

it('without money, machine and model are tried out in test mode', () => {
  const trials = (facts: Parameters<typeof onboardingSteps>[0]) =>
    onboardingSteps(facts).flatMap(({ isTrial, to }) => (isTrial === true ? [to] : []));
  expect(trials(nothing)).toEqual(['/rent', '/playground']);
  expect(trials({ ...nothing, hasMoney: true })).toEqual([]);
  expect(trials({ ...nothing, mode: 'test' })).toEqual([]);
});

it('a key of the playground does not count, an SSH key does', () => {
  expect(hasOwnKey([{ name: playgroundKeyName }], [])).toBe(false);
  expect(hasOwnKey([{ name: playgroundKeyName }, { name: 'ci' }], [])).toBe(true);
  expect(hasOwnKey([], [{}])).toBe(true);
});

it('is dismissed for one organisation', () => {
  const stored = new Map<string, string>();
  const storage = {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => void stored.set(key, value),
  };
  dismiss(storage, 'org_a');
  expect([isDismissed(storage, 'org_a'), isDismissed(storage, 'org_b')]).toEqual([true, false]);
});
