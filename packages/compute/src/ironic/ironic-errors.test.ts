import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DriverErrorKind } from '../driver-error.ts';
import { errorFromResponse, faultText } from './ironic-errors.ts';

/** As Ironic writes it: JSON in a string in JSON. */
const faultBody = (faultstring: string): string =>
  JSON.stringify({ error_message: JSON.stringify({ faultcode: 'Client', faultstring, debuginfo: null }) });

// Messages of Ironic 21.4 with their status codes.
const writes: readonly (readonly [DriverErrorKind, number, string])[] = [
  ['busy', 409, 'Node n is locked by host h, please retry after the current operation is completed.'],
  ['busy', 409, 'Node n can not be updated while a state transition is in progress.'],
  [
    'busy',
    409,
    'Cannot remove allocation a for node n, because the node is active (and maintenance mode is off)',
  ],
  [
    'busy',
    400,
    'The requested action "active" can not be performed on node "n" while it is in state "deploying".',
  ],
  ['busy', 503, 'Requested action cannot be performed due to lack of free conductor workers.'],
  ['conflict', 409, 'An allocation with UUID a already exists.'],
  ['no_capacity', 409, 'Node n is associated with instance i.'],
  [
    'no_capacity',
    400,
    "The provisioning operation can't be performed on node n because it's in maintenance mode.",
  ],
  ['failed', 409, 'Failed to set node power state to power on.'],
  ['not_found', 404, 'Node n could not be found.'],
  ['not_found', 404, 'Allocation a could not be found.'],
  ['not_found', 400, 'Node n could not be found.'],
  ['unsupported', 400, 'Driver fake-hardware does not support soft power off (disabled or not implemented).'],
  ['refused', 400, 'Expected a UUID but received x.'],
  ['refused', 500, 'Validation of image href htp://x failed, reason: unknown scheme'],
  [
    'unavailable',
    404,
    'No valid host was found. Reason: No conductor service registered which supports driver x',
  ],
  [
    'unavailable',
    400,
    'No valid host was found. Reason: No conductor service registered which supports driver x',
  ],
  ['unavailable', 500, 'something nobody has seen before'],
  ['unavailable', 503, 'Service Unavailable'],
  ['unavailable', 406, 'Version 1.82 was requested but the server supports 1.1 to 1.72'],
];

describe('errorFromResponse and faultText', () => {
  it.each(writes)('return %s for a write that fails with %i %s', (kind, code, text) => {
    const error = errorFromResponse('do it', code, faultBody(text), false);
    expect(error.kind).toBe(kind);
    expect(error.message).toContain(text.slice(0, 40));
  });

  it('read every format of error messages', () => {
    expect(faultText(faultBody('a sentence'))).toBe('a sentence');
    expect(faultText(JSON.stringify({ error_message: { faultstring: 'newer' } }))).toBe('newer');
    expect(faultText(JSON.stringify({ error_message: 'plain' }))).toBe('plain');
    const unauthorized = {
      error: { message: 'Incorrect username or password', code: 401, title: 'Unauthorized' },
    };
    expect(faultText(JSON.stringify(unauthorized))).toBe('Incorrect username or password');
    expect(faultText('<html>502 Bad Gateway</html>')).toBe('<html>502 Bad Gateway</html>');
    expect(faultText('')).toBe('');
  });

  it('explain a rejected credential without ending a rental', () => {
    const error = errorFromResponse(
      'list the nodes',
      401,
      '{"error":{"message":"Incorrect username"}}',
      true,
    );
    expect(error).toMatchObject({ kind: 'unavailable', code: 401 });
    expect(error.message).toContain('credential of the cluster is not accepted');
  });

  it('do not treat a 404 of a proxy as absence', () => {
    expect(errorFromResponse('read the node', 404, '<h1>Not Found</h1>', true).kind).toBe('unavailable');
  });

  it('return only unavailable, busy or not_found for a failed read', () => {
    const responses = fc.tuple(fc.integer({ min: 300, max: 599 }), fc.string());
    fc.assert(
      fc.property(responses, ([code, text]) => {
        const { kind } = errorFromResponse('look', code, faultBody(text), true);
        expect(['unavailable', 'busy', 'not_found']).toContain(kind);
      }),
    );
  });

  it('truncate long messages', () => {
    expect(errorFromResponse('do it', 500, 'x'.repeat(100_000), false).message.length).toBeLessThan(1_200);
  });
});
