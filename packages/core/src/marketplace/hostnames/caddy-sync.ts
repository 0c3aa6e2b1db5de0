import { isDeepStrictEqual } from 'node:util';
import { withDeadline, type Timer } from '@millrace/platform/clock';
import type { Logger } from '@millrace/platform/log';
import { counter, gauge } from '@millrace/platform/telemetry';
import type { CaddyAdmin } from './caddy-admin.ts';
import { caddyConfig, type CaddyConfig, type CaddySettings, type HostnameRoute } from './caddy-config.ts';

/** Keeps the configuration of Caddy in line with the database. */

const namesGauge = gauge('millrace_marketplace_names');
const loadsCounter = counter('millrace_marketplace_names_loads_total');

export interface CaddySyncDeps {
  readonly clock: Timer;
  readonly log: Pick<Logger, 'info'>;
  readonly admin: CaddyAdmin;
  readonly settings: () => Promise<CaddySettings>;
  readonly names: () => Promise<readonly HostnameRoute[]>;
}

/** Caddy is checked this often without local changes, because it may have lost or got another configuration. */
const VERIFY_EVERY_MS = 30_000;
const LOAD_TIMEOUT_MS = 20_000;
/** Concurrent writes are at most as many as there are workers. */
const REPLACE_ATTEMPTS = 10;

export class CaddySync {
  readonly #deps: CaddySyncDeps;
  #known: CaddyConfig | null = null;
  #confirmAtMs = 0;

  constructor(deps: CaddySyncDeps) {
    this.#deps = deps;
  }

  /** Any number of workers may call it. `loaded` means that the configuration changed. */
  async publish(signal: AbortSignal): Promise<'loaded' | 'unchanged'> {
    const { clock } = this.#deps;
    const wanted = await this.#wanted();
    if (clock.monotonicMs() < this.#confirmAtMs && isDeepStrictEqual(wanted, this.#known)) return 'unchanged';
    this.#known = null;
    const outcome = await withDeadline(clock, 'Configuring Caddy', LOAD_TIMEOUT_MS, (deadline) =>
      this.#load(AbortSignal.any([signal, deadline])),
    ).catch((error: unknown) => {
      loadsCounter.add(1, { outcome: 'failed' });
      throw error;
    });
    this.#confirmAtMs = clock.monotonicMs() + VERIFY_EVERY_MS;
    return outcome;
  }

  async #wanted(): Promise<CaddyConfig> {
    const { settings, names } = this.#deps;
    return caddyConfig(await settings(), await names());
  }

  async #load(signal: AbortSignal): Promise<'loaded' | 'unchanged'> {
    const { admin, log, settings } = this.#deps;
    for (let attempt = 1; attempt <= REPLACE_ATTEMPTS; attempt += 1) {
      const running = await admin.read(signal);
      // Names must be read after the running configuration, so that they are newer.
      const names = await this.#deps.names();
      const wanted = caddyConfig(await settings(), names);
      const isThere = isDeepStrictEqual(running.config, wanted);
      if (!isThere && !(await admin.replace(wanted, running, signal))) continue;
      this.#known = wanted;
      namesGauge.record(names.length);
      if (isThere) return 'unchanged';
      loadsCounter.add(1, { outcome: 'loaded' });
      log.info({ names: names.length }, 'loaded a new configuration into Caddy');
      return 'loaded';
    }
    throw new Error(`Another writer replaced Caddy's configuration ${REPLACE_ATTEMPTS} times in a row.`);
  }
}
