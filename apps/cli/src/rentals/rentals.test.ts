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

describe('where nobody said where', () => {
  it('is where it is cheapest by the GPU, of what is free and large enough', () => {
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

  it('has the network that was asked for', () => {
    const options = [
      option('us-central-1'),
      option('us-east-1', { connectionType: 'infiniband', costPerHour: 9 }),
    ];
    expect(cheapestOption(options, { ...query, network: 'infiniband' })?.region).toBe('us-east-1');
  });
});

describe('a console that is followed', () => {
  it('shows what is new, once', () => {
    expect(newOutput('', 'boot\n')).toBe('boot\n');
    expect(newOutput('boot\n', 'boot\nlogin:')).toBe('login:');
    expect(newOutput('boot\nlogin:', 'boot\nlogin:')).toBe('');
  });

  it('goes on where it was, whatever has been left off of its beginning', () => {
    const line = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 8 });
    const lines = fc.array(line, { minLength: 100, maxLength: 200 });
    fc.assert(
      fc.property(lines, fc.nat(200), fc.nat(300), (all, more, left) => {
        // Numbered, as a console has its times: two places that look alike to the end cannot be told apart.
        const whole = all.map((text, index) => `${index} ${text}\n`).join('');
        const known = whole.slice(0, whole.length - more);
        expect(newOutput(known, whole.slice(left))).toBe(whole.slice(known.length));
      }),
    );
  });

  it('shows all of what has nothing in common with before', () => {
    expect(newOutput('old\n', 'another boot\n')).toBe('another boot\n');
  });
});

describe('what people type', () => {
  it('is read, or refused by the name of its flag', () => {
    expect(parseDurationFlag('ttl', '2h')).toBe(7_200);
    expect(() => parseDurationFlag('ttl', 'soon')).toThrow('does not work');
    expect(parseTagFlags(['a=b=c', 'd='])).toEqual({ a: 'b=c', d: '' });
    expect(parseTagFlags([])).toBeUndefined();
    expect(() => parseTagFlags(['novalue'])).toThrow();
    expect(parsePortFlags(['80', '65535'])).toEqual([80, 65_535]);
    expect(() => parsePortFlags(['0'])).toThrow();
    expect(() => parsePortFlags(['65536'])).toThrow();
  });

  it('can be what a rental is called, unless it could be taken for something else', () => {
    expect(handleOf({ id: 7, name: 'train' })).toBe('train');
    expect(handleOf({ id: 7, name: null })).toBe('7');
    expect(handleOf({ id: 7, name: '1042' })).toBe('7');
    expect(handleOf({ id: 7, name: 'two words' })).toBe('7');
    expect(handleOf({ id: 7, name: '-rf' })).toBe('7');
  });

  it('can be a name that was made up', () => {
    for (let index = 0; index < 100; index += 1) {
      const name = randomRentalName(randomInt);
      expect(name).toMatch(/^[a-z]+-[a-z]+-\d\d$/);
      expect(handleOf({ id: 7, name })).toBe(name);
    }
  });
});
