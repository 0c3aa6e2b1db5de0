import { maxWireId } from '@millrace/platform/wire-ids';

/** Clients can send any integer. Skip the lookup of numbers that no rental or volume can have. */
export const isWireId = (id: number): boolean => id > 0 && id <= maxWireId;
