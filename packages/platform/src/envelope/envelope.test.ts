import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { envelopeFromHeaders, envelopeHeaders, type Envelope } from './index.ts';

const someEnvelope = fc.record<Envelope>({
  cell: fc.integer({ min: 0, max: 1_023 }),
  mode: fc.constantFrom('live', 'test'),
  actor: fc.record({
    kind: fc.constantFrom('key', 'user', 'operator', 'system'),
    id: fc.stringMatching(/^[A-Za-z0-9_:.-]{1,40}$/),
  }),
  schemaVersion: fc.integer({ min: 1, max: 1_000 }),
  traceparent: fc.constantFrom(null, '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'),
});

const read = (headers: Record<string, string>) => envelopeFromHeaders((name) => headers[name]);

describe('envelopeFromHeaders', () => {
  it('reads back every envelope that envelopeHeaders wrote', () => {
    fc.assert(
      fc.property(someEnvelope, (envelope) => {
        expect(read(envelopeHeaders(envelope))).toEqual(envelope);
      }),
    );
  });

  it('returns null if any header is missing or malformed', () => {
    const headers = envelopeHeaders({
      cell: 1,
      mode: 'live',
      actor: { kind: 'key', id: 'k' },
      schemaVersion: 1,
      traceparent: null,
    });
    const wrong: Record<string, string>[] = [
      {},
      ...Object.keys(headers).map((name) => ({ ...headers, [name]: '' })),
      { ...headers, 'millrace-cell': '-1' },
      { ...headers, 'millrace-cell': '1e3' },
      { ...headers, 'millrace-mode': 'LIVE' },
      { ...headers, 'millrace-actor': 'root:1' },
      { ...headers, 'millrace-actor': 'key:' },
      { ...headers, 'millrace-schema-version': '1.0' },
    ];
    expect(wrong.map(read).filter((envelope) => envelope !== null)).toEqual([]);
  });
});
