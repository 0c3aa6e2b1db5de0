import { describe, expect, it } from 'vitest';
import { attentionItems, type AttentionSources } from './attention.ts';
import type { Event } from './activity.ts';

const now = Date.parse('2026-11-18T12:00:00.000Z');
const inHours = (hours: number): string => new Date(now + hours * 3_600_000).toISOString();

type Rental = NonNullable<AttentionSources['rentals']>[number];
const onDemand = { termType: 'on-demand', reservedUntil: null } as Rental['currentTerm'];
const rental = (fields: Partial<Rental>): Rental => ({
  id: 1,
  name: 'train',
  label: null,
  status: 'Running',
  statusReason: null,
  expiresAt: null,
  convertToOnDemandOnExpiry: null,
  currentTerm: onDemand,
  ...fields,
});

type Budget = NonNullable<AttentionSources['budgets']>[number];
const budget = (id: string, spent: string): Budget =>
  ({
    id,
    name: 'Monthly',
    limitNanoUsd: '100',
    spentNanoUsd: spent,
    thresholdsPercent: [50],
    onExceeded: 'notify',
  }) as unknown as Budget;

type Webhook = NonNullable<AttentionSources['webhooks']>[number];
const webhook = (fields: Partial<Webhook>): Webhook =>
  ({
    id: 'whk_1',
    url: 'https://hooks.example.com/x',
    description: '',
    status: 'enabled',
    disabledReason: null,
    failingSince: null,
    lastSucceededAt: null,
    ...fields,
  }) as Webhook;

type Volume = NonNullable<AttentionSources['volumes']>[number];
const volume = (fields: Partial<Volume>): Volume =>
  ({
    id: 4,
    label: 'data',
    status: 'active',
    startedAt: inHours(-48),
    terminatedAt: null,
    createdAt: inHours(-48),
    attachedRentals: [],
    costPerHour: 0.05,
    ...fields,
  }) as Volume;

const event = (type: string, occurredAt: string, data: object): Event =>
  ({ id: type + occurredAt, type, occurredAt, data }) as unknown as Event;
const maintenance = {
  maintenanceId: 'mnt_1',
  rentalIds: [7],
  externalIds: ['a', 'b'],
  startsAt: inHours(20),
  endsAt: inHours(22),
  summary: 'new firmware',
};

const titlesOf = (sources: Partial<AttentionSources>): readonly string[] =>
  attentionItems({ mode: 'live', ...sources }, now).map(({ tone, title }) => `${tone}: ${title}`);

describe('attentionItems', () => {
  it('is empty if nothing is wrong', () => {
    const balance = {
      frozen: false,
      runwaySeconds: null,
      availableNanoUsd: '5',
    } as AttentionSources['balance'];
    expect(titlesOf({ rentals: [rental({})], budgets: [budget('a', '79')], balance })).toEqual([]);
  });

  it('names failed and unreachable machines before warnings, and links to them', () => {
    const rentals = [
      rental({ expiresAt: inHours(3) }),
      rental({ id: 2, name: null, status: 'Unknown' }),
      rental({ id: 3, status: 'Failed', statusReason: 'The image was not found.' }),
    ];
    expect(titlesOf({ rentals })).toEqual([
      'bad: Rental 2 does not respond',
      'bad: train failed',
      'warn: train ends in 3 h',
    ]);
    expect(attentionItems({ mode: 'live', rentals }, now).map(({ to }) => to)).toEqual([
      '/rentals/2',
      '/rentals/3',
      '/rentals/1',
    ]);
  });

  it('warns of a rental that ends within a day, not of one that ends later', () => {
    expect(titlesOf({ rentals: [rental({ expiresAt: inHours(24) })] })).toHaveLength(1);
    expect(titlesOf({ rentals: [rental({ expiresAt: inHours(24.1) })] })).toEqual([]);
  });

  it('says what happens at the end of a reserved term', () => {
    const currentTerm = {
      ...onDemand,
      termType: 'reserved',
      reservedUntil: inHours(5),
    } as Rental['currentTerm'];
    const detailOf = (converts: boolean) =>
      attentionItems(
        { mode: 'live', rentals: [rental({ currentTerm, convertToOnDemandOnExpiry: converts })] },
        now,
      )[0]?.detail;
    expect(detailOf(true)).toContain('continues on demand');
    expect(detailOf(false)).toContain('terminated');
  });

  it('warns of budgets from 80 %, and reports a used-up budget as a problem', () => {
    expect(titlesOf({ budgets: [budget('a', '80'), budget('b', '100')] })).toEqual([
      'bad: Budget Monthly is used up',
      'warn: Budget Monthly is at 80 %',
    ]);
  });

  it('names volumes that are billed but attached to nothing, with their cost', () => {
    const [one] = attentionItems({ mode: 'live', volumes: [volume({})] }, now);
    expect(one).toMatchObject({
      tone: 'info',
      title: 'Volume data is attached to nothing',
      to: '/volumes/4',
    });
    expect(one?.detail).toContain('$36.00 in 30 days');
    const [two] = attentionItems(
      { mode: 'live', volumes: [volume({}), volume({ id: 5, label: 'scratch' })] },
      now,
    );
    expect(two).toMatchObject({ title: '2 volumes are attached to nothing', to: '/volumes' });
    expect(two?.detail).toContain('data and scratch cost $72.00');
  });

  it('does not name volumes that are attached, free, or created in the last hour', () => {
    const volumes = [
      volume({ attachedRentals: [7] }),
      volume({ costPerHour: 0 }),
      volume({ createdAt: inHours(-0.5) }),
    ];
    expect(titlesOf({ volumes })).toEqual([]);
  });

  it('reports failing webhooks, but not one that the user disabled', () => {
    const webhooks = [
      webhook({ failingSince: inHours(-1) }),
      webhook({ id: 'whk_2', status: 'disabled', disabledReason: 'Disabled by its owner.' }),
      webhook({
        id: 'whk_3',
        description: 'Billing',
        status: 'disabled',
        disabledReason: 'It failed for 5 days.',
      }),
    ];
    expect(titlesOf({ webhooks })).toEqual([
      'bad: Webhook Billing is disabled',
      'warn: Webhook hooks.example.com is failing',
    ]);
  });

  it('announces maintenance until it has ended', () => {
    const announced = event('maintenance.announced', inHours(-30), maintenance);
    const [item] = attentionItems({ mode: 'live', events: [announced] }, now);
    expect(item).toMatchObject({
      tone: 'info',
      title: 'Maintenance in 20 h: new firmware',
      to: '/rentals/7',
    });
    expect(item?.detail).toBe('Affects 2 machines for 2 h, which is not billed.');
    const ended = event('maintenance.ended', inHours(-1), { ...maintenance, cancelled: true });
    expect(titlesOf({ events: [ended, announced] })).toEqual([]);
    const past = { ...maintenance, startsAt: inHours(-4), endsAt: inHours(-2) };
    expect(titlesOf({ events: [event('maintenance.announced', inHours(-30), past)] })).toEqual([]);
  });

  it('mentions a failure of the last day once, and prefers the present state of the rental', () => {
    const failed = (rentalId: number, hours: number) =>
      event('rental.failed', inHours(hours), { rentalId, name: 'train', reason: 'The host was lost.' });
    expect(titlesOf({ events: [failed(9, -2), failed(8, -25)] })).toEqual(['warn: train failed 2 h ago']);
    expect(titlesOf({ events: [failed(3, -2)], rentals: [rental({ id: 3, status: 'Failed' })] })).toEqual([
      'bad: train failed',
    ]);
  });
});
