import { randomUUID } from 'node:crypto';

/** A double of a correct Incus daemon that runs nothing. `hostile-incus.ts` serves it and can falsify responses. */

export interface IncusRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** Parsed JSON; undefined if missing or invalid. */
  readonly body: unknown;
  /** The fingerprint of the client's certificate; null without one. */
  readonly fingerprint: string | null;
}

export interface IncusResponse {
  readonly status: number;
  /** JSON, or raw bytes. */
  readonly body: unknown;
  readonly etag?: string;
}

export interface FakeGpu {
  readonly pciAddress: string;
  readonly model: string;
  readonly uuid: string;
}

export interface FakeHardware {
  readonly cpuCount: number;
  readonly ramBytes: number;
  readonly diskBytes: number;
  readonly gpus: readonly FakeGpu[];
}

export interface FakeInstance {
  readonly name: string;
  readonly project: string;
  readonly createdAt: string;
  status: 'Running' | 'Stopped';
  version: number;
  config: Record<string, string>;
  devices: Record<string, Record<string, string>>;
}

interface Trusted {
  readonly restricted: boolean;
  readonly projects: readonly string[];
}

const IMAGE = 'a'.repeat(64);

export const okResponse = (metadata: unknown, etag?: string): IncusResponse => ({
  status: 200,
  body: { type: 'sync', status: 'Success', status_code: 200, metadata },
  ...(etag === undefined ? {} : { etag }),
});

export const errorResponse = (status: number, error: string): IncusResponse => ({
  status,
  body: { type: 'error', error, error_code: status, metadata: null },
});

const missing = errorResponse(404, 'Not Found');

export class FakeIncus {
  readonly name: string;
  readonly instances = new Map<string, FakeInstance>();
  readonly trusted = new Map<string, Trusted>();
  /** Secrets that can be exchanged once for trust. */
  readonly secrets = new Map<string, Trusted>();
  readonly projects = new Set(['default', 'millrace']);
  /** The settings that join.sh writes to every project except the default. */
  projectConfig: Record<string, string> = {
    restricted: 'true',
    'features.images': 'true',
    'features.profiles': 'true',
    'user.millrace.network': 'tenants',
    'user.millrace.storage-pool': 'default',
    'user.millrace.instance-type': 'container',
    'user.millrace.network-ipv4': '10.9.0.1/24',
    'user.millrace.ssh-user': 'ubuntu',
    'user.millrace.default-image': 'ubuntu',
  };
  hardware: FakeHardware;
  readonly #operations = new Map<string, string>();

  constructor(name: string, hardware: FakeHardware) {
    this.name = name;
    this.hardware = hardware;
  }

  respond(request: IncusRequest): IncusResponse {
    const [, version, kind = '', ...rest] = request.path.split('/');
    if (version !== '1.0') return missing;
    const client = request.fingerprint === null ? undefined : this.trusted.get(request.fingerprint);
    if (kind === '' && request.method === 'GET') return this.#server(client !== undefined);
    if (kind === 'certificates') return this.#certificates(request, client, rest);
    if (client === undefined) return errorResponse(403, 'not authorized');
    const project = request.query.get('project') ?? 'default';
    const isServerWide = request.query.get('all-projects') === 'true' && kind !== 'events';
    if (client.restricted && isServerWide && kind === 'instances')
      return errorResponse(403, 'not authorized');
    const isInside = ['instances', 'operations', 'images'].includes(kind) && !isServerWide;
    if (client.restricted && isInside && !client.projects.includes(project) && kind !== 'operations') {
      return errorResponse(403, 'not authorized');
    }
    switch (kind) {
      case 'projects':
        return this.#projects(request, client, rest);
      case 'resources':
        return okResponse(this.resources());
      case 'networks':
        return okResponse({
          managed: true,
          type: 'bridge',
          status: 'Created',
          config: { 'ipv4.address': '10.9.0.1/24' },
        });
      case 'storage-pools':
        return this.#pool(rest);
      case 'images':
        return rest[1] === undefined ? okResponse([{ name: 'ubuntu' }]) : okResponse({ target: IMAGE });
      case 'operations':
        return this.#operation(rest);
      case 'instances':
        return this.#instance(request, project, rest);
      default:
        return missing;
    }
  }

  #server(isTrusted: boolean): IncusResponse {
    const version = { server: 'incus', server_version: '6.0.4' };
    const environment = { ...version, server_name: this.name, server_clustered: false };
    return okResponse({
      auth: isTrusted ? 'trusted' : 'untrusted',
      auth_methods: ['tls'],
      api_extensions: [],
      environment,
      config: {},
    });
  }

  #certificates(request: IncusRequest, client: Trusted | undefined, rest: readonly string[]): IncusResponse {
    if (request.method === 'POST') {
      const { trust_token: token = '' } = (request.body ?? {}) as { trust_token?: string };
      const granted = this.secrets.get(secretIn(token));
      if (granted === undefined || request.fingerprint === null) return errorResponse(403, 'not authorized');
      this.secrets.delete(secretIn(token));
      this.trusted.set(request.fingerprint, granted);
      return okResponse(null);
    }
    if (client === undefined) return errorResponse(403, 'not authorized');
    if (request.method === 'DELETE') {
      if (client.restricted || request.fingerprint === null) return errorResponse(403, 'not authorized');
      this.trusted.delete(request.fingerprint);
      return okResponse(null);
    }
    const own = { ...client, type: 'client', name: 'millrace', fingerprint: request.fingerprint };
    if (rest[0] === undefined) {
      const isFull = request.query.get('recursion') === '1';
      return okResponse([isFull ? own : `/1.0/certificates/${request.fingerprint}`]);
    }
    return rest[0] === request.fingerprint || !client.restricted ? okResponse(own) : missing;
  }

  #projects(request: IncusRequest, client: Trusted, [name]: readonly string[]): IncusResponse {
    if (request.method === 'POST') {
      if (client.restricted) return errorResponse(403, 'not authorized');
      this.projects.add((request.body as { name: string }).name);
      return okResponse(null);
    }
    const visible = [...this.projects].filter((one) => !client.restricted || client.projects.includes(one));
    const shown = (one: string) => ({ name: one, config: one === 'default' ? {} : this.projectConfig });
    if (name === undefined) {
      const isFull = request.query.get('recursion') === '1';
      return okResponse(visible.map((one) => (isFull ? shown(one) : `/1.0/projects/${one}`)));
    }
    if (visible.includes(name)) return okResponse(shown(name));
    return client.restricted ? errorResponse(403, 'not authorized') : missing;
  }

  resources(): unknown {
    const { cpuCount, ramBytes, gpus } = this.hardware;
    const cards = gpus.map(({ pciAddress, model, uuid }) => ({
      pci_address: pciAddress,
      vendor_id: '10de',
      product: model,
      numa_node: 0,
      nvidia: { cuda_version: '12.8', nvrm_version: '570.00', model, uuid },
    }));
    return {
      cpu: { total: cpuCount, sockets: [{ name: 'Pretended CPU' }] },
      memory: { total: ramBytes },
      gpu: { cards },
    };
  }

  /** The double caches no images. */
  #pool([, part]: readonly string[]): IncusResponse {
    return part === 'resources' ? okResponse({ space: { total: this.hardware.diskBytes } }) : missing;
  }

  #operation([id, wait]: readonly string[]): IncusResponse {
    if (id === undefined) return okResponse({});
    if (!this.#operations.has(id) || wait !== 'wait') return errorResponse(404, 'Operation not found');
    return okResponse({ id, status_code: 200, status: 'Success', err: '', metadata: {} });
  }

  /** The operation counts as finished at the first poll. */
  #started(description: string): IncusResponse {
    const id = randomUUID();
    this.#operations.set(id, description);
    const metadata = { id, status_code: 103, description };
    return { status: 202, body: { type: 'async', operation: `/1.0/operations/${id}`, metadata } };
  }

  #instance(request: IncusRequest, project: string, [name, part]: readonly string[]): IncusResponse {
    if (name === undefined) {
      if (request.method === 'POST') return this.#make(request.body, project);
      const inProject = [...this.instances.values()].filter((one) => one.project === project);
      return okResponse(inProject.map((one) => this.#shown(one)));
    }
    const instance = this.instances.get(`${project}/${name}`);
    if (instance === undefined) return missing;
    if (part === 'state' && request.method === 'PUT') {
      const { action = '' } = request.body as { action?: string };
      instance.status = action === 'stop' ? 'Stopped' : 'Running';
      return this.#started(`${action} instance`);
    }
    if (part === 'metadata') return okResponse({ templates: {} });
    if (part === 'files') {
      return request.method === 'GET'
        ? { status: 200, body: Buffer.from('root:x:0:0::/root:/bin/sh\n') }
        : okResponse(null);
    }
    if (part !== undefined) return okResponse(null);
    return this.#change(request, instance);
  }

  #change(request: IncusRequest, instance: FakeInstance): IncusResponse {
    const written = (request.body ?? {}) as Partial<Pick<FakeInstance, 'config' | 'devices'>>;
    switch (request.method) {
      case 'DELETE':
        this.instances.delete(`${instance.project}/${instance.name}`);
        return this.#started('Deleting instance');
      case 'PATCH':
        instance.config = { ...instance.config, ...written.config };
        instance.version += 1;
        return this.#started('Updating instance');
      case 'PUT':
        instance.config = written.config ?? {};
        instance.devices = written.devices ?? {};
        instance.version += 1;
        return this.#started('Updating instance');
      default:
        return okResponse(this.#shown(instance), `v${instance.version}`);
    }
  }

  #make(body: unknown, project: string): IncusResponse {
    const { name, config, devices } = body as Pick<FakeInstance, 'name' | 'config' | 'devices'>;
    const key = `${project}/${name}`;
    if (this.instances.has(key)) return errorResponse(500, 'UNIQUE constraint failed: instances');
    const createdAt = '2026-01-01T00:00:00Z';
    this.instances.set(key, { name, project, createdAt, status: 'Stopped', version: 1, config, devices });
    return this.#started('Creating instance');
  }

  #shown(instance: FakeInstance): unknown {
    const isOn = instance.status === 'Running';
    const { name, project, config, devices, status, createdAt } = instance;
    const state = { status_code: isOn ? 103 : 102, network: {} };
    const fixed = {
      location: 'none',
      ephemeral: false,
      profiles: [],
      architecture: 'x86_64',
      description: '',
    };
    return {
      name,
      project,
      config,
      devices,
      status,
      status_code: state.status_code,
      created_at: createdAt,
      ...fixed,
      state,
    };
  }
}

/** The secret of a trust token, which is JSON in base64. */
function secretIn(token: string): string {
  try {
    const { secret } = JSON.parse(Buffer.from(token, 'base64').toString('utf8')) as { secret?: unknown };
    return typeof secret === 'string' ? secret : '';
  } catch {
    return '';
  }
}
