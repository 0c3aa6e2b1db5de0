import type { Clock } from '../clock/index.ts';
import { base32Length, base32ToHex, hexToBase32 } from './base32.ts';
import {
  cellOfHex,
  createHexSource,
  hexToUuid,
  isVersion7,
  timeOfHex,
  uuidToHex,
  type CellId,
  type FillRandom,
} from './uuid.ts';

/** The kinds of ids, which are also the prefixes of their text form. */
export const idKinds = [
  'org',
  'usr',
  'mem',
  'inv',
  'ses',
  'acc',
  'ver',
  'key',
  'ssh',
  'evt',
  'req',
  'bat',
  'op',
  'aud',
  'lac',
  'trf',
  'hld',
  'bdg',
  'prc',
  'rso',
  'ent',
  'pay',
  'mtr',
  'lse',
  'cls',
  'fab',
  'nod',
  'gpu',
  'alc',
  'mnt',
  'rnt',
  'rrq',
  'dep',
  'sup',
  'jtk',
  'enr',
  'pyo',
  'stm',
  'vol',
  'snp',
  'stn',
  'whk',
  'dlv',
  'ntc',
  'ivc',
  'rpt',
] as const;
export type IdKind = (typeof idKinds)[number];

declare const idBrand: unique symbol;
/** An id in text form, such as `org_01JGYZ8ZZ8E1RRSXQ0F6ZB5K3M`. Only this module creates ids. */
export type IdOf<K extends IdKind> = `${K}_${string}` & { readonly [idBrand]: K };
export type AnyId = IdOf<IdKind>;

export type OrgId = IdOf<'org'>;
export type UserId = IdOf<'usr'>;
export type MemberId = IdOf<'mem'>;
export type InvitationId = IdOf<'inv'>;
export type SessionId = IdOf<'ses'>;
export type AccountId = IdOf<'acc'>;
export type VerificationId = IdOf<'ver'>;
export type KeyId = IdOf<'key'>;
export type SshKeyId = IdOf<'ssh'>;
export type EventId = IdOf<'evt'>;
export type RequestId = IdOf<'req'>;
export type BatchId = IdOf<'bat'>;
export type OperationId = IdOf<'op'>;
export type AuditId = IdOf<'aud'>;
export type LedgerAccountId = IdOf<'lac'>;
export type TransferId = IdOf<'trf'>;
export type HoldId = IdOf<'hld'>;
export type BudgetId = IdOf<'bdg'>;
export type PriceId = IdOf<'prc'>;
export type ReserveOptionId = IdOf<'rso'>;
export type EntitlementId = IdOf<'ent'>;
export type PaymentId = IdOf<'pay'>;
export type MeterId = IdOf<'mtr'>;
export type LeaseId = IdOf<'lse'>;
export type ClusterId = IdOf<'cls'>;
export type FabricId = IdOf<'fab'>;
export type NodeId = IdOf<'nod'>;
export type GpuId = IdOf<'gpu'>;
export type AllocationId = IdOf<'alc'>;
export type RentalId = IdOf<'rnt'>;
export type ReservationRequestId = IdOf<'rrq'>;
export type MaintenanceId = IdOf<'mnt'>;
export type DeploymentId = IdOf<'dep'>;
export type SupplierId = IdOf<'sup'>;
export type JoinTokenId = IdOf<'jtk'>;
export type EnrolmentId = IdOf<'enr'>;
export type PayoutId = IdOf<'pyo'>;
export type StatementId = IdOf<'stm'>;
export type VolumeId = IdOf<'vol'>;
export type SnapshotId = IdOf<'snp'>;
export type StorageNodeId = IdOf<'stn'>;
export type NoticeId = IdOf<'ntc'>;
export type InvoiceId = IdOf<'ivc'>;
export type AuditReportId = IdOf<'rpt'>;
export type WebhookId = IdOf<'whk'>;
export type DeliveryId = IdOf<'dlv'>;

export interface IdSource {
  next<K extends IdKind>(kind: K): IdOf<K>;
  /** A UUIDv7 of the same sequence, for names outside the platform, such as a machine's externalId. */
  nextUuid(): string;
}

export function createIdSource(options: { clock: Clock; cell: CellId; random?: FillRandom }): IdSource {
  const nextHex = createHexSource(options);
  return { next: (kind) => format(kind, nextHex()), nextUuid: () => hexToUuid(nextHex()) };
}

function format<K extends IdKind>(kind: K, hex: string): IdOf<K> {
  return `${kind}_${hexToBase32(hex)}` as IdOf<K>;
}

function hexOf(id: AnyId): string {
  const hex = base32ToHex(id.slice(-base32Length));
  if (hex === null) throw new TypeError(`Not an id: ${JSON.stringify(id)}.`);
  return hex;
}

/** Parses an external id. Other spellings are refused, because ids are compared, cached and hashed as text. */
export function parseId<K extends IdKind>(kind: K, text: string): IdOf<K> | null {
  if (text.length !== kind.length + 1 + base32Length || !text.startsWith(`${kind}_`)) return null;
  const hex = base32ToHex(text.slice(kind.length + 1));
  return hex !== null && isVersion7(hex) ? (text as IdOf<K>) : null;
}

export function toUuid(id: AnyId): string {
  return hexToUuid(hexOf(id));
}

/** The inverse of `toUuid`. Throws for a UUID that this module did not create, which is a bug of the caller. */
export function fromUuid<K extends IdKind>(kind: K, uuid: string): IdOf<K> {
  const hex = uuidToHex(uuid);
  if (hex === null) throw new TypeError(`Not a canonical UUIDv7: ${JSON.stringify(uuid)}.`);
  return format(kind, hex);
}

export function cellOf(id: AnyId): CellId {
  return cellOfHex(hexOf(id));
}

/** The time at which this id was created, by the clock of its creator. */
export function timeOf(id: AnyId): number {
  return timeOfHex(hexOf(id));
}

/** The same id, created this much later. For history that is moved in time; two ids stay equal or different. */
export function moveIdTime(id: AnyId, byMs: number): AnyId {
  const kind = id.slice(0, id.indexOf('_')) as IdKind;
  return format(kind, moveHexTime(hexOf(id), byMs));
}

/** As `moveIdTime`, for the UUID of an id. */
export function moveUuidTime(uuid: string, byMs: number): string {
  const hex = uuidToHex(uuid);
  if (hex === null) throw new TypeError(`Not a UUID of version 7: ${uuid}.`);
  return hexToUuid(moveHexTime(hex, byMs));
}

function moveHexTime(hex: string, byMs: number): string {
  return (timeOfHex(hex) + byMs).toString(16).padStart(12, '0') + hex.slice(12);
}
