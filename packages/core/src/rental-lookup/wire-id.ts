import { maxWireId } from '@millrace/platform/wire-ids';

/** Clients may ask for any whole number. A number that no rental or volume can have is not looked up. */
export const isWireId = (id: number): boolean => id > 0 && id <= maxWireId;
