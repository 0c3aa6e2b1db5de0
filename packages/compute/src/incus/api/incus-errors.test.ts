import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DriverErrorKind } from '../../driver-error.ts';
import { errorFromResponse } from './incus-errors.ts';

// Messages of Incus 6.0 with their codes.
const writes: readonly (readonly [DriverErrorKind, number, string])[] = [
  [
    'conflict',
    500,
    'Failed creating instance record: Add instance info to the database: Failed to create "instances" entry: UNIQUE constraint failed: instances.project_id, instances.name',
  ],
  ['busy', 500, 'Failed creating instance record: Instance is busy running a "stop" operation'],
  [
    'busy',
    500,
    'Failed to create instance delete operation: A matching non-reusable operation has now succeeded',
  ],
  ['busy', 400, 'The storage volume is still in use'],
  ['busy', 412, "ETag doesn't match: 1 vs 2"],
  ['not_found', 404, 'Cluster member "m9" not found'],
  ['not_found', 404, 'Failed loading project: Project not found'],
  ['not_found', 500, 'Image not provided for instance creation'],
  ['no_capacity', 500, 'Failed to start device "gpu-0": Invalid PCI address (no device found): 0000:ff:00.0'],
  [
    'no_capacity',
    500,
    'Error occurred when starting proxy device: Error: Failed to listen on 10.0.0.2:2201: listen tcp 10.0.0.2:2201: bind: address already in use',
  ],
  ['no_capacity', 500, 'write /rootfs/bin/sh: no space left on device'],
  [
    'refused',
    500,
    'Failed checking if instance creation allowed: Invalid value "true" for config "security.privileged" on container "a" of project "p": Privileged containers are forbidden',
  ],
  ['refused', 403, 'Certificate is restricted'],
  [
    'unavailable',
    500,
    'Get "https://10.0.0.2:8443/1.0": Unable to connect to: 10.0.0.2:8443 ([dial tcp 10.0.0.2:8443: connect: connection refused])',
  ],
  ['unavailable', 500, 'Missing event connection with target cluster member'],
  // The cluster's database did not finish a transaction within 30 s.
  ['unavailable', 500, 'context deadline exceeded'],
  ['unavailable', 500, 'Failed to begin transaction: context deadline exceeded'],
  [
    'unavailable',
    500,
    'Failed loading instance: Failed to fetch from "instances_config" table: context deadline exceeded',
  ],
  ['unavailable', 500, 'RAFT cluster is unavailable'],
  ['unavailable', 500, "Server isn't ready yet"],
  ['unavailable', 503, 'Incus is shutting down'],
  ['unavailable', 500, 'Failed to begin transaction: no available cowsql leader server found'],
  ['unavailable', 500, 'Failed to fetch from "instances" table: database is locked'],
  ['failed', 500, 'Failed to start device "cloud-init": exec: "mkisofs": executable file not found in $PATH'],
  ['failed', 500, 'Failed to run: /usr/libexec/incus/incusd forkstart a b c: exit status 1'],
];

describe('errorFromResponse', () => {
  it.each(writes)('returns %s for a write that fails with %i %s', (kind, code, text) => {
    expect(errorFromResponse('do it', code, text, false).kind).toBe(kind);
  });

  it('returns only unavailable, busy or not_found for a failed read', () => {
    const failure = fc.tuple(fc.integer({ min: 500, max: 599 }), fc.string());
    fc.assert(
      fc.property(failure, ([code, text]) => {
        const { kind } = errorFromResponse('look', code, text, true);
        expect(['unavailable', 'busy', 'not_found']).toContain(kind);
      }),
    );
    expect(errorFromResponse('look', 500, "Invalid PID '\uFFFD'", true).kind).toBe('busy');
    expect(errorFromResponse('look', 500, 'something new', true).kind).toBe('unavailable');
  });

  it('detects a duplicate by its message, because the code is 500', () => {
    expect(
      errorFromResponse('make it', 500, 'UNIQUE constraint failed: projects.name', false).isDuplicate,
    ).toBe(true);
    expect(errorFromResponse('make it', 500, 'whatever', false).isDuplicate).toBe(false);
  });

  it('names the missing package if a VM cannot get its keys', () => {
    const text = 'Failed to start device "cloud-init": exec: "mkisofs": executable file not found in $PATH';
    expect(errorFromResponse('start the instance', 500, text, false).message).toContain(
      'the package genisoimage',
    );
  });

  it('truncates long messages', () => {
    expect(errorFromResponse('do it', 500, 'x'.repeat(100_000), false).message.length).toBeLessThan(1_200);
  });
});
