import type { DeploymentEntry, ModelEntry } from '@millrace/core/inference';
import { SimulatedClock } from '@millrace/platform/clock';
import { candidateOf, type Candidate } from './choose-deployment.ts';
import type { RouterLimits } from './limits.ts';
import type { SendProbe, Prober } from './prober.ts';
import type { DeploymentView, Route, Router, RouteRequest, UpstreamCall } from './router-types.ts';
import { createRouter } from './router.ts';

export function deploymentEntry(id: string, fields: Partial<DeploymentEntry> = {}): DeploymentEntry {
  return {
    id,
    engine: 'llama.cpp',
    address: `http://${id}.test:8080`,
    upstreamModel: 'tiny',
    apiKey: null,
    region: 'us-central-1',
    weight: 100,
    maxConcurrency: null,
    ...fields,
  };
}

export function modelEntry(deployments: readonly DeploymentEntry[], name = 'tiny'): ModelEntry {
  return {
    version: 1,
    name,
    aliases: [],
    modality: 'chat',
    inputModalities: ['text'],
    contextLength: 4096,
    maxOutputTokens: null,
    ownedBy: 'us',
    createdAtMs: 0,
    mode: 'live',
    visibleTo: null,
    fallbacks: [],
    requestsPerMinute: null,
    prices: [],
    contractPrices: {},
    deployments: [...deployments],
  };
}

export function candidate(
  id: string,
  fields: Partial<DeploymentEntry> = {},
  state: Partial<Omit<DeploymentView, 'entry'>> = {},
): Candidate {
  return candidateOf(deploymentEntry(id, fields), {
    inFlight: 0,
    others: 0,
    waiting: 0,
    isSaturated: false,
    health: 'healthy',
    breaker: 'closed',
    isOnTrial: false,
    firstTokenMs: null,
    tokensPerSecond: null,
    ...state,
  });
}

export function routeRequest(fields: Partial<RouteRequest> = {}): RouteRequest {
  return { orgId: 'org_1', prefix: 'You are a miller.', by: 'affinity', except: new Set(), ...fields };
}

export const silentLog = { info: () => undefined, warn: () => undefined };

/** Prober whose engines are healthy and idle until a test changes them. */
export class FakeEngines implements Prober {
  readonly loads = new Map<string, string>();
  readonly health = new Map<string, number | 'silent' | 'refused'>();
  readonly probes: string[] = [];
  isClosed = false;

  readonly probe: SendProbe = async (entry, path, signal) => {
    this.probes.push(`${entry.id}${path}`);
    const health = this.health.get(entry.id) ?? 200;
    if (health === 'refused') throw new Error('connect ECONNREFUSED');
    if (health === 'silent') {
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      });
    }
    if (path !== '/metrics') return { status: health, text: '{}' };
    return { status: 200, text: this.loads.get(entry.id) ?? llamaMetrics(0, 0) };
  };

  close(): void {
    this.isClosed = true;
  }

  countOf(question: string): number {
    return this.probes.filter((probe) => probe === question).length;
  }
}

export function llamaMetrics(running: number, waiting: number): string {
  return `llamacpp:requests_processing ${running}\nllamacpp:requests_deferred ${waiting}\n`;
}

export interface Ground {
  readonly clock: SimulatedClock;
  readonly engines: FakeEngines;
  readonly router: Router;
}

export function ground(limits: Partial<RouterLimits> = {}): Ground {
  const clock = new SimulatedClock();
  const engines = new FakeEngines();
  const router = createRouter({ clock, log: silentLog, gatewayId: 'gw_1', prober: engines, limits });
  return { clock, engines, router };
}

export function callOf(route: Route): UpstreamCall {
  if (route.outcome !== 'to') throw new Error(`Expected an upstream call, got ${route.outcome}.`);
  return route;
}

export function viewOf(router: Router, model: ReturnType<typeof modelEntry>, id: string): DeploymentView {
  const view = router.views(model).find(({ entry }) => entry.id === id);
  if (view === undefined) throw new Error(`The router has no view of ${id}.`);
  return view;
}

export const never = new AbortController().signal;

export const two = modelEntry([deploymentEntry('dep_a'), deploymentEntry('dep_b')]);

export const narrow = modelEntry([deploymentEntry('dep_a', { maxConcurrency: 1 })]);
