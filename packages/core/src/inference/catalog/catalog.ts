import type { DeploymentId, OrgId } from '@millrace/platform/ids';
import type { EngineKind, ModelEntry } from '../key-feed.ts';

/** The words of the catalog as values. Stores turn rows into these, routes turn these into answers. */

export type Modality = ModelEntry['modality'];
export type InputModality = ModelEntry['inputModalities'][number];

/** What an operator decides of a model. */
export interface ModelSettings {
  readonly modality: Modality;
  readonly inputModalities: readonly InputModality[];
  readonly contextLength: number | null;
  readonly maxOutputTokens: number | null;
  readonly ownedBy: string;
  readonly enabled: boolean;
  readonly aliases: readonly string[];
  readonly fallbacks: readonly string[];
  /** Null: everyone. */
  readonly visibleTo: readonly OrgId[] | null;
  readonly requestsPerMinute: number | null;
}

export interface Model extends ModelSettings {
  readonly name: string;
  readonly mode: 'live' | 'test';
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** What an operator decides of a deployment, its engine's key apart. */
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

/**
 * The address as adapters take it: without a trailing slash, and without the `/v1` that people copy along. Null when it
 * holds what no base address has: a password, a query, a fragment.
 */
export function baseAddress(text: string): string | null {
  const url = new URL(text);
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') return null;
  const path = url.pathname.replace(/(?<!\/)\/+$/, '').replace(/\/v1$/, '');
  return `${url.origin}${path}`;
}

/** Where a deployment's key is sealed for. */
export function sealContextOf(id: DeploymentId) {
  return { table: 'inference_deployments', column: 'sealed_api_key', rowId: id } as const;
}
