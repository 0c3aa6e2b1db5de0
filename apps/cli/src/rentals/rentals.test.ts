import { randomInt } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Item } from '../sdk.ts';
import { newOutput } from './console.ts';
import { handleOf } from './find.ts';
import { parseDurationFlag, parsePortFlags, parseTagFlags } from './flags.ts';
import { randomRentalName } from '@millrace/sdk/text';
import { cheapestOption } from './quote-request.ts';

type Option = Item<'listRentalOptions'>;

function option(region: Option['region'], fields: Partial<Option> = {}): Option {
  return {
    gpuType: 'h100',
    gpuCount: 1,
    region,
    machineType: 'virtual-machine',
    gpuFormFactor: 'sxm5',
    connectionType: 'ethernet',
    costPerHour: 2,
    costPerHourCents: 200,
    pricePerHourNanoUsd: '2000000000',
    totalAvailable: 1,
    enabled: true,
    nodes: [],
    ...fields,
  };
}

const query = { gpuType: 'h100', machineType: 'virtual-machine', gpuCount: 1, network: undefined } as const;

describe('cheapestOption', () => {
  it('returns the cheapest available offer per GPU that is large enough', () => {
    const options = [
      option('us-central-1'),
      option('us-central-2', { gpuCount: 4, costPerHour: 6 }),
      option('eu-north-2', { costPerHour: 1, totalAvailable: 0 }),
      option('eu-west-2', { costPerHour: 1, enabled: false }),
    ];
    expect(cheapestOption(options, query)?.region).toBe('us-central-2');
    expect(cheapestOption(options, { ...query, gpuCount: 3 })?.region).toBe('us-central-2');
    expect(cheapestOption(options, { ...query, gpuCount: 5 })).toBeNull();
  });

  it('returns an offer with the requested network', () => {
    const options = [
      option('us-central-1'),
      option('us-east-1', { connectionType: 'infiniband', costPerHour: 9 }),
    ];
    expect(cheapestOption(options, { ...query, network: 'infiniband' })?.region).toBe('us-east-1');
  });
});

describe('newOutput', () => {
  it('returns new output once', () => {
    expect(newOutput('', 'boot\n')).toBe('boot\n');
    expect(newOutput('boot\n', 'boot\nlogin:')).toBe('login:');
    expect(newOutput('boot\nlogin:', 'boot\nlogin:')).toBe('');
  });

  it('continues where it stopped, however much of the start was dropped', () => {
    const line = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 8 });
    const lines = fc.array(line, { minLength: 100, maxLength: 200 });
    fc.assert(
      fc.property(lines, fc.nat(200), fc.nat(300), (all, more, left) => {
        // Numbered like timestamps of a console: windows with equal ends could not be distinguished.
        const whole = all.map((text, index) => `${index} ${text}\n`).join('');
        const known = whole.slice(0, whole.length - more);
        expect(newOutput(known, whole.slice(left))).toBe(whole.slice(known.length));
      }),
    );
  });

  it('returns everything if the texts have nothing in common', () => {
    expect(newOutput('old\n', 'another boot\n')).toBe('another boot\n');
  });
});

describe('arguments of rental commands', () => {
  it('are parsed, or refused with the name of their flag', () => {
    expect(parseDurationFlag('ttl', '2h')).toBe(7_200);
    expect(() => parseDurationFlag('ttl', 'soon')).toThrow('use a duration');
    expect(parseTagFlags(['a=b=c', 'd='])).toEqual({ a: 'b=c', d: '' });
    expect(parseTagFlags([])).toBeUndefined();
    expect(() => parseTagFlags(['novalue'])).toThrow();
    expect(parsePortFlags(['80', '65535'])).toEqual([80, 65_535]);
    expect(() => parsePortFlags(['0'])).toThrow();
    expect(() => parsePortFlags(['65536'])).toThrow();
  });

  it('can be the name of a rental, unless it is ambiguous', () => {
    expect(handleOf({ id: 7, name: 'train' })).toBe('train');
    expect(handleOf({ id: 7, name: null })).toBe('7');
    expect(handleOf({ id: 7, name: '1042' })).toBe('7');
    expect(handleOf({ id: 7, name: 'two words' })).toBe('7');
    expect(handleOf({ id: 7, name: '-rf' })).toBe('7');
  });

  it('can be a generated name', () => {
    for (let index = 0; index < 100; index += 1) {
      const name = randomRentalName(randomInt);
      expect(name).toMatch(/^[a-z]+-[a-z]+-\d\d$/);
      expect(handleOf({ id: 7, name })).toBe(name);
    }
  });
});
