import { eventEnvelope } from '@millrace/contract';
import { SimulatedClock } from '@millrace/platform/clock';
import { createIdSource } from '@millrace/platform/ids';
import { describe, expect, test } from 'vitest';
import {
  eventChannels,
  eventFromMessage,
  toMessageEnvelope,
  toWireEvent,
  isVisibleIn,
  type FeedEvent,
} from './events.ts';

const ids = createIdSource({ clock: new SimulatedClock(1_767_225_600_000), cell: 9 });

function keyCreated(): FeedEvent {
  const keyId = ids.next('key');
  return {
    id: ids.next('evt'),
    orgId: ids.next('org'),
    seq: 7,
    type: 'key.created',
    resource: { kind: 'api-key', id: keyId },
    mode: 'test',
    cell: 9,
    actor: { kind: 'user', id: 'usr_1' },
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    schemaVersion: 1,
    apiVersion: '2.0.0',
    occurredAt: new Date('2026-01-02T03:04:05.678Z'),
    data: {
      keyId,
      publicId: 'abcdefgh2345',
      name: 'ci',
      mode: 'test',
      createdBy: ids.next('usr'),
      scopes: ['events:read'],
      expiresAt: null,
      rotatedFrom: null,
    },
  };
}

describe('toWireEvent and eventFromMessage', () => {
  test('produce exactly the envelope of the contract', () => {
    const wire = toWireEvent(keyCreated());
    expect(eventEnvelope.parse(wire)).toEqual(wire);
    expect(wire.occurredAt).toBe('2026-01-02T03:04:05.678Z');
  });

  test('round-trip an event without change for the reader', () => {
    const wire = toWireEvent(keyCreated());
    const back = eventFromMessage(JSON.parse(JSON.stringify(wire)));
    expect(back === null ? null : toWireEvent(back)).toEqual(wire);
  });

  test('eventFromMessage returns null when any field is missing or the body is not an event', () => {
    const wire = toWireEvent(keyCreated());
    for (const field of Object.keys(wire)) {
      expect(eventFromMessage({ ...wire, [field]: undefined }), field).toBeNull();
    }
    for (const rubbish of [null, 7, 'text', [], {}, { seq: -1 }, { seq: 1.5 }]) {
      expect(eventFromMessage(rubbish)).toBeNull();
    }
  });
});

describe('toMessageEnvelope and eventChannels', () => {
  test('put cell, mode, actor, schema version and trace in the headers, and route by subject', () => {
    const event = keyCreated();
    expect(toMessageEnvelope(event)).toEqual({
      cell: 9,
      mode: 'test',
      actor: { kind: 'user', id: 'usr_1' },
      schemaVersion: 1,
      traceparent: event.traceparent,
    });
    expect(eventChannels().subjectOf(event)).toBe(`events.9.${event.orgId}.key.created`);
    expect(eventChannels('t1').stream).toBe('T1_EVENTS');
    expect(() => eventChannels('a.b')).toThrow('prefix');
  });
});

describe('isVisibleIn', () => {
  test('shows a test key test events only and a live key all events', () => {
    expect(isVisibleIn('test', { mode: 'live' })).toBe(false);
    expect(isVisibleIn('test', { mode: 'test' })).toBe(true);
    expect(isVisibleIn('live', { mode: 'test' })).toBe(true);
    expect(isVisibleIn('live', { mode: 'live' })).toBe(true);
  });
});
