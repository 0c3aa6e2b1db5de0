import { stateTables, type RentalState } from '@millrace/contract/states';
import { describe, expect, it } from 'vitest';
import { stateDescription, rentalActionDisabledReason, type RentalVerb } from './actions.ts';
import { makeRental } from './rental.fixture.ts';

const verbs: readonly RentalVerb[] = [
  'terminate',
  'start',
  'stop',
  'reboot',
  'extend',
  'update',
  'attach-volume',
];
const states = Object.keys(stateTables.rental.states) as readonly RentalState[];

describe('what can be done with a rental', () => {
  it('is what the table of states allows, and every refusal has a sentence', () => {
    for (const status of states) {
      for (const verb of verbs) {
        const decision = stateTables.rental.actions[verb][status];
        const why = rentalActionDisabledReason(
          verb,
          makeRental({ status, expiresAt: '2027-01-01T00:00:00.000Z' }),
          false,
        );
        if (decision !== 'allowed') expect(why, `${verb} in ${status}`).toMatch(/^[A-Z].*\.$/);
      }
    }
  });

  it.each([
    ['start', { power: 'on' }, /on already/],
    ['start', { power: 'off' }, false],
    ['start', { power: 'changing' }, /being switched/],
    ['stop', { power: 'on' }, false],
    ['stop', { power: 'off', gpuHeld: false }, /off already/],
    ['stop', { power: 'off', releasedCostPerHourNanoUsd: null }, /off already/],
    ['reboot', { power: 'off' }, /instead of rebooting/],
    ['reboot', { power: 'on' }, false],
    ['extend', {}, /no end/],
    ['extend', { expiresAt: '2027-01-01T00:00:00.000Z' }, false],
    ['terminate', { power: 'changing' }, false],
  ] as const)('%s of one that is %j', (verb, changes, why) => {
    const reason = rentalActionDisabledReason(verb, makeRental(changes), false);
    if (why === false) expect(reason).toBe(false);
    else expect(reason).toMatch(why);
  });

  it('off with its GPUs held, it can still be stopped to give them back', () => {
    expect(rentalActionDisabledReason('stop', makeRental({ power: 'off', gpuHeld: true }), false)).toBe(
      false,
    );
  });

  it('is nothing where the role lacks the right, whatever the state', () => {
    for (const verb of verbs)
      expect(rentalActionDisabledReason(verb, makeRental(), 'Ask an owner.')).toBe('Ask an owner.');
  });

  it('of a private cloud is its name and no more', () => {
    const own = makeRental({
      currentTerm: { ...makeRental().currentTerm, termType: 'private-cloud' } as never,
    });
    expect(rentalActionDisabledReason('terminate', own, false)).toContain('contract');
    expect(rentalActionDisabledReason('update', own, false)).toBe(false);
  });
});

describe('what a state means', () => {
  it('is the table’s own sentence, and of one that is off what is kept', () => {
    expect(stateDescription(makeRental({ status: 'Unknown' }))).toBe(
      stateTables.rental.states.Unknown.meaning,
    );
    expect(stateDescription(makeRental({ power: 'off' }))).toContain('still yours');
    expect(stateDescription(makeRental({ power: 'off', gpuHeld: false }))).toContain('given back');
  });
});
