import type { DriverErrorKind } from '@millrace/compute';
import type { OrgId } from '@millrace/platform/ids';
import { z } from 'zod';

// HTTPS protocol between the control plane and the storage agent:
//
//   PUT    /v1/volumes/{id}                        VolumeSpec        200 VolumeView
//   GET    /v1/volumes                                               200 {volumes: […]}
//   PUT    /v1/volumes/{id}/snapshots/{snapshot}                     200 {sizeBytes}
//   DELETE /v1/volumes/{id}, …/snapshots/{snapshot}                  204
//
// Errors are {error: {kind, message}} with the kinds of a DriverError.

export { checkSnapshotId, checkVolumeId, checkVolumeSpec, isHostAddress } from './check-spec.ts';

const shortText = z.string().max(256);

/** Checks types only; `checkVolumeSpec` checks the values. */
export const volumeSpecBody = z.strictObject({
  orgId: shortText.transform((text) => text as OrgId),
  sizeGb: z.number(),
  vip: shortText,
  clients: z.array(shortText).max(10_000),
  restore: z.strictObject({ id: shortText, volumeId: shortText, snapshotId: shortText }).exactOptional(),
  sequence: z.number().exactOptional(),
});

export const volumeViewBody = z.object({
  externalId: shortText,
  sizeGb: z.int().min(0),
  vip: shortText,
  clients: z.array(shortText).max(10_000),
  isServed: z.boolean(),
  detail: z.string().max(4_096).nullable(),
  snapshots: z.array(shortText).max(100_000),
  restored: z.array(shortText).max(1_000).default([]),
});

export const volumeListBody = z.object({ volumes: z.array(volumeViewBody).max(100_000) });

export const snapshotBody = z.object({ sizeBytes: z.int().min(0) });

const kinds = {
  unavailable: 503,
  busy: 503,
  not_found: 404,
  conflict: 409,
  no_capacity: 507,
  refused: 400,
  unsupported: 501,
  failed: 500,
  unclean: 500,
} as const satisfies Record<DriverErrorKind, number>;

export function httpStatusOf(kind: DriverErrorKind): number {
  return kinds[kind];
}

export const errorBody = z.object({
  error: z.object({
    kind: z.enum(Object.keys(kinds) as [DriverErrorKind, ...DriverErrorKind[]]),
    message: z.string().max(8_192),
  }),
});

/** Path of the volume below `vip:`. The folders above it are empty and read-only. */
export const exportPath = '/volume';
