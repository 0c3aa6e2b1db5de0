import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import type { Launch, NodeSpec } from '../engine.ts';
import { exchangeText } from '../loopback-client.ts';
import { caFile, ensureServerCertificate, issueServerCertificate, type ServerTlsFiles } from './site-tls.ts';
import { knownHome, nodeHome, repositoryRoot, writeAtomically, type Site } from '../site.ts';
import { haproxyFile } from '../engines/programs.ts';

/** HAProxy with mutual TLS in front of the Restate of a secure site. */

export const restateProxyName = 'restate-proxy';
/** The common name of the certificate that the proxy accepts. */
const clientName = 'millrace-worker';
const shippedConfig = path.join(repositoryRoot, 'deploy/restate/haproxy.cfg');

export interface RestateProxyOptions {
  /** `ADDRESS:PORT` to listen on. */
  readonly ingressBind: string;
  readonly adminBind: string;
  /** `ADDRESS:PORT` of Restate. */
  readonly restateIngress: string;
  readonly restateAdmin: string;
  /** PEM file with the certificate and then its key. */
  readonly certificateFile: string;
  readonly clientCaFile: string;
  readonly clientName: string;
  /** A further configuration file, for settings of the test. */
  readonly extraConfig: string;
}

/** HAProxy with the configuration in `deploy/restate`. As a master process, which reloads on SIGUSR2. */
export function restateProxyCommand(options: RestateProxyOptions): Required<Launch> {
  return {
    file: haproxyFile(),
    args: ['-W', '-f', shippedConfig, '-f', options.extraConfig],
    env: {
      INGRESS_BIND: options.ingressBind,
      ADMIN_BIND: options.adminBind,
      RESTATE_INGRESS: options.restateIngress,
      RESTATE_ADMIN: options.restateAdmin,
      CERTIFICATE: options.certificateFile,
      CLIENT_CA_FILE: options.clientCaFile,
      CLIENT_NAME: options.clientName,
    },
  };
}

function workerFolder(site: Site): string {
  return path.join(knownHome(site, restateProxyName), clientName);
}

const certificateWithKey = (home: string): string => path.join(home, 'proxy.pem');
const extraConfig = (home: string): string => path.join(home, 'site.cfg');

export async function configureRestateProxy(site: Site): Promise<void> {
  const home = nodeHome(site, restateProxyName);
  await writeCertificateWithKey(site, home);
  mkdirSync(workerFolder(site), { recursive: true });
  await ensureServerCertificate(site, workerFolder(site));
  // Its path in the command line identifies the process as this site's.
  writeFileSync(extraConfig(home), 'global\n');
}

async function writeCertificateWithKey(site: Site, home: string): Promise<void> {
  const { certificateFile, keyFile } = await ensureServerCertificate(site, home);
  const both = readFileSync(certificateFile, 'utf8') + readFileSync(keyFile, 'utf8');
  writeAtomically(certificateWithKey(home), both, 0o600);
}

/** The proxy uses its new certificate, and workers find a new one in their files. */
export async function reloadRestateProxy(site: Site, pid: number): Promise<void> {
  await writeCertificateWithKey(site, knownHome(site, restateProxyName));
  process.kill(pid, 'SIGUSR2');
  await issueServerCertificate(site, workerFolder(site));
}

export function startRestateProxy(site: Site, proxy: NodeSpec, restate: NodeSpec): Launch {
  const home = knownHome(site, restateProxyName);
  const on = (node: NodeSpec, port: string): string => `127.0.0.1:${node.ports[port]}`;
  return restateProxyCommand({
    ingressBind: on(proxy, 'ingress'),
    adminBind: on(proxy, 'admin'),
    restateIngress: on(restate, 'ingress'),
    restateAdmin: on(restate, 'admin'),
    certificateFile: certificateWithKey(home),
    clientCaFile: caFile(site),
    clientName,
    extraConfig: extraConfig(home),
  });
}

export async function checkRestateProxy(site: Site, proxy: NodeSpec): Promise<void> {
  const { certificateFile, keyFile } = restateWorkerTls(site);
  const tls = {
    ca: readFileSync(caFile(site), 'utf8'),
    cert: readFileSync(certificateFile, 'utf8'),
    key: readFileSync(keyFile, 'utf8'),
  };
  for (const [port, page] of [
    ['ingress', '/restate/health'],
    ['admin', '/health'],
  ] as const) {
    const send = [`GET ${page} HTTP/1.1\r\nhost: localhost\r\n\r\n`];
    const until = (text: string): boolean => text.includes('\r\n\r\n');
    const response = await exchangeText({ port: proxy.ports[port] ?? 0, tls, send, until });
    const [line = ''] = response.split('\r\n');
    if (!line.includes(' 200')) throw new Error(`the ${port} proxy answered ${line}`);
  }
}

/** The certificate of workers, for their requests and for their handlers. */
export function restateWorkerTls(site: Site): ServerTlsFiles {
  const folder = workerFolder(site);
  return { certificateFile: path.join(folder, 'server.pem'), keyFile: path.join(folder, 'server.key') };
}
