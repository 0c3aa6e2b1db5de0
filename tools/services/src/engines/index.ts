import type { Engine } from '../engine.ts';
import { Failure } from '../failure.ts';
import { caddy } from './caddy.ts';
import { haproxy, patroni } from './programs.ts';
import { incusHost } from './incus-standalone.ts';
import { incus } from './incus.ts';
import { ironic } from './ironic.ts';
import { llama } from './inference/llama.ts';
import { images, speech } from './inference/media.ts';
import { nats } from './nats.ts';
import { nfs } from './nfs.ts';
import { postgres } from './postgres.ts';
import { restate } from './restate.ts';
import { valkey } from './valkey.ts';

/** All engines, in the order in which they are listed to users. */
export const engines: readonly Engine[] = [
  postgres,
  valkey,
  nats,
  restate,
  incus,
  incusHost,
  ironic,
  llama,
  images,
  speech,
  caddy,
  nfs,
  haproxy,
  patroni,
];

export function engineNamed(name: string): Engine {
  const engine = engines.find((candidate) => candidate.name === name);
  if (engine !== undefined) return engine;
  throw new Failure(
    `There is no engine called ${name}.`,
    `The engines are ${engines.map((known) => known.name).join(', ')}.`,
  );
}
