import { X509Certificate } from 'node:crypto';
import type { Clock } from '@millrace/platform/clock';
import type { PinnedTls } from '@millrace/platform/tls';
import { z } from 'zod';
import { isDriverError } from '../../driver-error.ts';
import { IncusClient } from './incus-client.ts';
import { IncusError } from './incus-errors.ts';
import type { IncusConnectionOptions } from './incus-transport.ts';

// Establishes trust with a supplier's daemon and reads its limits, without touching machines.

/** A project that the daemon grants. */
export interface GrantedProject {
  readonly name: string;
  readonly config: Readonly<Record<string, string>>;
}

/** Limits of the certificate, as the daemon states them and as probes confirm. */
export interface TrustLimits {
  /** Whether it can see instances outside its projects, or the default project. */
  readonly seesOthers: boolean;
  /** Whether the daemon stores the certificate as restricted. */
  readonly isRestricted: boolean;
  readonly projects: readonly GrantedProject[];
  /** Whether the daemon is part of a cluster, whose members would all trust the certificate. */
  readonly isClustered: boolean;
  readonly serverName: string;
}

export interface IncusTrust {
  isTrusted(signal: AbortSignal): Promise<boolean>;
  /** Redeems the token that the owner created. A token works once; later calls are `refused`. */
  redeem(token: string, signal: AbortSignal): Promise<void>;
  readLimits(signal: AbortSignal): Promise<TrustLimits>;
  /** Removes the certificate, which only works with unrestricted trust. */
  leave(signal: AbortSignal): Promise<void>;
  /** Image names of a project, at most a hundred. */
  readImages(project: string, signal: AbortSignal): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** Open for one task only, in which the certificate does not change. */
type TrustConnectionOptions = Extract<IncusConnectionOptions, { readonly endpoints: readonly string[] }> & {
  readonly tls: PinnedTls;
};

const text = z.string().max(256);
const serverSchema = z.object({
  auth: text,
  environment: z.object({ server_name: text.min(1), server_clustered: z.boolean() }).nullish(),
});
const certificateSchema = z.object({
  restricted: z.boolean(),
  projects: z.array(text).max(10_000).nullish(),
});
const projectsSchema = z
  .array(z.object({ name: text, config: z.record(text, z.string().max(4_096)).nullish() }))
  .max(1_000);
const instancesSchema = z.array(z.object({ project: text })).max(10_000);
const aliasesSchema = z.array(z.object({ name: z.string().min(1).max(255) })).max(10_000);
const maxImages = 100;

export function openIncusTrust(reach: TrustConnectionOptions, clock: Clock): IncusTrust {
  return new Trust(reach, clock);
}

class Trust implements IncusTrust {
  readonly #client: IncusClient;
  readonly #fingerprint: string;

  constructor(reach: TrustConnectionOptions, clock: Clock) {
    this.#client = new IncusClient(reach, clock);
    const { fingerprint256 } = new X509Certificate(reach.tls.clientCertificate);
    this.#fingerprint = fingerprint256.replaceAll(':', '').toLowerCase();
  }

  async isTrusted(signal: AbortSignal): Promise<boolean> {
    return (await this.#server(signal)).auth === 'trusted';
  }

  async redeem(token: string, signal: AbortSignal): Promise<void> {
    const body = { type: 'client', trust_token: token };
    const what = 'add the certificate with a token';
    await this.#client.write({ what, method: 'POST', path: '/1.0/certificates', body }, signal);
  }

  async readLimits(signal: AbortSignal): Promise<TrustLimits> {
    const { environment } = await this.#server(signal);
    if (environment === null || environment === undefined) {
      throw new IncusError('refused', 'Incus does not trust the client certificate.');
    }
    const request = {
      what: 'read the limits of the certificate',
      path: `/1.0/certificates/${this.#fingerprint}`,
    };
    const { restricted, projects: named } = await this.#client.read(request, certificateSchema, signal);
    const query = { recursion: '1' };
    const all = { what: 'list the projects', path: '/1.0/projects', query };
    const projects = await this.#client.read(all, projectsSchema, signal);
    const seesOthers = await this.#seesOthers(projects, signal);
    const names = new Set([...(named ?? []), ...projects.map(({ name }) => name)]);
    const configs = new Map(projects.map(({ name, config }) => [name, config ?? {}]));
    return {
      seesOthers,
      isRestricted: restricted,
      projects: [...names].map((name) => ({ name, config: configs.get(name) ?? {} })),
      isClustered: environment.server_clustered,
      serverName: environment.server_name,
    };
  }

  async leave(signal: AbortSignal): Promise<void> {
    const path = `/1.0/certificates/${this.#fingerprint}`;
    await this.#client.write({ what: 'remove the certificate', method: 'DELETE', path }, signal);
  }

  async readImages(project: string, signal: AbortSignal): Promise<readonly string[]> {
    const query = { project, recursion: '1' };
    const request = { what: 'list the images', path: '/1.0/images/aliases', query };
    const aliases = await this.#client.read(request, aliasesSchema, signal);
    return aliases.map(({ name }) => name).slice(0, maxImages);
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  #server(signal: AbortSignal): Promise<z.infer<typeof serverSchema>> {
    return this.#client.read({ what: 'identify itself', path: '/1.0' }, serverSchema, signal);
  }

  /**
   * With `all-projects` Incus lists only visible instances, so none may be outside the granted projects. It must also refuse the
   * default project. A missing response proves nothing.
   */
  async #seesOthers(projects: readonly { readonly name: string }[], signal: AbortSignal): Promise<boolean> {
    const own = new Set(projects.map(({ name }) => name));
    const everywhere = { path: '/1.0/instances', query: { 'all-projects': 'true', recursion: '1' } };
    const instances = await this.#unlessRefused(everywhere, instancesSchema, signal);
    if (instances?.some(({ project }) => !own.has(project)) === true) return true;
    const everybodys = { path: '/1.0/projects/default' };
    return (await this.#unlessRefused(everybodys, z.object({}), signal)) !== null;
  }

  async #unlessRefused<T>(
    question: { readonly path: string; readonly query?: Readonly<Record<string, string>> },
    schema: z.ZodType<T>,
    signal: AbortSignal,
  ): Promise<T | null> {
    try {
      return await this.#client.read({ what: 'show objects of other projects', ...question }, schema, signal);
    } catch (error) {
      if (isDriverError(error, 'refused') || isDriverError(error, 'not_found')) return null;
      throw error;
    }
  }
}
