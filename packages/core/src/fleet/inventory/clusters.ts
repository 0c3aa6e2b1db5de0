import type { DriverKind } from '@millrace/compute';
import type { Mode } from '@millrace/platform/envelope';
import type { ClusterId, OrgId } from '@millrace/platform/ids';
import type { ConnectionType, OfferKind } from './nodes.ts';

/** Providers and clusters as the database stores them. */

export type ClusterStatus = 'connecting' | 'connected' | 'silent' | 'removed';
export type ClusterOrigin = 'configuration' | 'operator' | 'supplier';

/** Driver settings besides the endpoint. They never contain a secret. */
export type ClusterSettings = Readonly<Record<string, unknown>>;

export interface ClusterRecord {
  readonly id: ClusterId;
  readonly name: string;
  readonly providerId: string;
  readonly region: string;
  readonly mode: Mode;
  readonly driver: DriverKind;
  readonly endpoint: string;
  readonly credentialRef: string | null;
  readonly settings: ClusterSettings;
  readonly offer: OfferKind;
  readonly connectionType: ConnectionType;
  readonly supplierOrgId: OrgId | null;
  readonly ports: { readonly first: number; readonly last: number };
  readonly origin: ClusterOrigin;
  readonly configured: boolean;
  readonly status: ClusterStatus;
  readonly statusReason: string | null;
  readonly statusSince: Date;
  readonly engine: string | null;
  readonly lastSeenAt: Date | null;
  readonly watchingSince: Date | null;
  readonly heartbeatAt: Date | null;
  readonly nodeCount: number;
  readonly createdAt: Date;
  readonly removedAt: Date | null;
}

/** The fields that a driver needs to connect to the engine. */
export type ClusterConnection = Pick<
  ClusterRecord,
  'id' | 'name' | 'driver' | 'endpoint' | 'credentialRef' | 'settings'
>;

export interface ProviderRegion {
  readonly region: string;
  readonly enabled: boolean;
  readonly configured: boolean;
  readonly customPorts: boolean;
}

export interface ProviderRecord {
  readonly id: string;
  readonly variant: string;
  readonly driver: DriverKind;
  readonly mode: Mode;
  readonly enabled: boolean;
  readonly configured: boolean;
  readonly regions: readonly ProviderRegion[];
}

/** Whether suppliers may add machines to this provider. Only a demo has live providers with the driver `mock`. */
export function takesSuppliersMachines({ driver, mode }: Pick<ProviderRecord, 'driver' | 'mode'>): boolean {
  return driver === 'incus' || (driver === 'mock' && mode === 'live');
}

export interface FleetPageRequest<Position> {
  readonly limit: number;
  readonly after: Position | null;
}
