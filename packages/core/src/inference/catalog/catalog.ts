import type { DeploymentId, OrgId } from '@millrace/platform/ids';
import { isPlainHttpBeyondLoopback } from '@millrace/platform/net';
import type { EngineKind, ModelEntry } from '../key-feed.ts';

/** Values of the catalog: stores convert rows to them, routes convert them to responses. */

export type Modality = ModelEntry['modality'];
export type InputModality = ModelEntry['inputModalities'][number];

/** Settings of a model that an operator chooses. */
export interface ModelSettings {
  readonly modality: Modality;
  readonly inputModalities: readonly InputModality[];
  readonly contextLength: number | null;
  readonly maxOutputTokens: number | null;
  readonly ownedBy: string;
  readonly enabled: boolean;
  readonly aliases: readonly string[];
  readonly fallbacks: readonly string[];
  /** Null: all organisations. */
  readonly visibleTo: readonly OrgId[] | null;
  readonly requestsPerMinute: number | null;
}

export interface Model extends ModelSettings {
  readonly name: string;
  readonly mode: 'live' | 'test';
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Settings of a deployment that an operator chooses, without the engine's key. */
export interface DeploymentSettings {
  readonly address: string;
  readonly upstreamModel: string;
  readonly region: string;
  readonly weight: number;
  readonly maxConcurrency: number | null;
  readonly enabled: boolean;
}

export interface Deployment extends DeploymentSettings {
  readonly id: DeploymentId;
  readonly model: string;
  readonly engine: EngineKind;
  readonly sealedApiKey: string | null;
  readonly health: 'unknown' | 'healthy' | 'degraded' | 'down';
  readonly healthSince: Date;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Whether prompts and the key of the engine would cross a network without TLS. */
export function usesPlaintext({ engine, address }: Pick<Deployment, 'engine' | 'address'>): boolean {
  return engine !== 'mock' && isPlainHttpBeyondLoopback(new URL(address));
}

/** Removes a trailing slash and a copied `/v1`, as adapters expect. Null if the address has a password, query or fragment. */
export function baseAddress(text: string): string | null {
  const url = new URL(text);
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') return null;
  const path = url.pathname.replace(/(?<!\/)\/+$/, '').replace(/\/v1$/, '');
  return `${url.origin}${path}`;
}

export function sealContextOf(id: DeploymentId) {
  return { table: 'inference_deployments', column: 'sealed_api_key', rowId: id } as const;
}
