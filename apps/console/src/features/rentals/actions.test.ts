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

describe('rentalActionDisabledReason', () => {
  it('follows the state table and has a sentence for every refusal', () => {
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
    ['start', { power: 'on' }, /already on/],
    ['start', { power: 'off' }, false],
    ['start', { power: 'changing' }, /being started or stopped/],
    ['stop', { power: 'on' }, false],
    ['stop', { power: 'off', gpuHeld: false }, /already off/],
    ['stop', { power: 'off', releasedCostPerHourNanoUsd: null }, /already off/],
    ['reboot', { power: 'off' }, /Start it instead/],
    ['reboot', { power: 'on' }, false],
    ['extend', {}, /no end/],
    ['extend', { expiresAt: '2027-01-01T00:00:00.000Z' }, false],
    ['terminate', { power: 'changing' }, false],
  ] as const)('%s with %j', (verb, changes, why) => {
    const reason = rentalActionDisabledReason(verb, makeRental(changes), false);
    if (why === false) expect(reason).toBe(false);
    else expect(reason).toMatch(why);
  });

  it('allows stopping a stopped rental that still holds its GPUs, to release them', () => {
    expect(rentalActionDisabledReason('stop', makeRental({ power: 'off', gpuHeld: true }), false)).toBe(
      false,
    );
  });

  it('returns the missing permission first, in any state', () => {
    for (const verb of verbs)
      expect(rentalActionDisabledReason(verb, makeRental(), 'Ask an owner.')).toBe('Ask an owner.');
  });

  it('allows only renaming a private cloud rental', () => {
    const own = makeRental({
      currentTerm: { ...makeRental().currentTerm, termType: 'private-cloud' } as never,
    });
    expect(rentalActionDisabledReason('terminate', own, false)).toContain('contract');
    expect(rentalActionDisabledReason('update', own, false)).toBe(false);
  });
});

describe('stateDescription', () => {
  it('returns the meaning from the state table, and what is kept while off', () => {
    expect(stateDescription(makeRental({ status: 'Unknown' }))).toBe(
      stateTables.rental.states.Unknown.meaning,
    );
    expect(stateDescription(makeRental({ power: 'off' }))).toContain('still reserved');
    expect(stateDescription(makeRental({ power: 'off', gpuHeld: false }))).toContain('released');
  });
});
