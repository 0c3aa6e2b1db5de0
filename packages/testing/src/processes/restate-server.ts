import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  ensureIdentityKey,
  identityPublicKey,
  renderRestateToml,
  restateCommand,
  restateProxyCommand,
} from '@millrace/services';
import { servedFingerprint } from '../network/certificates.ts';
import { freePorts } from '../network/ports.ts';
import { startCommand } from './processes.ts';
import { eventually } from '../time/eventually.ts';

/** PEM texts. */
interface ServerCertificate {
  readonly certificate: string;
  readonly key: string;
  readonly fingerprint: string;
}

export interface RestateServerOptions {
  /** The authority of the handlers' certificates and of the clients of the proxy. */
  readonly ca: string;
  /** The certificate of the proxy. */
  readonly tls: ServerCertificate;
  /** The common name of the client certificate that the proxy accepts. */
  readonly clientName: string;
}

/** A Restate for one test, behind HAProxy with the shipped configuration. */
export interface TestRestate {
  /** Of the proxy, with TLS. */
  readonly ingressUrl: string;
  readonly adminUrl: string;
  /** Of Restate itself, without TLS. */
  readonly plainAdminUrl: string;
  readonly identityPublicKey: string;
  /** Replaces the certificate of the proxy and reloads it, as an operator does. */
  replaceCertificate(tls: ServerCertificate): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function startRestateServer(options: RestateServerOptions): Promise<TestRestate> {
  const folder = await mkdtemp(path.join(tmpdir(), 'millrace-restate-'));
  const file = (name: string): string => path.join(folder, name);
  const [ingress = 0, admin = 0, fabric = 0, proxyIngress = 0, proxyAdmin = 0] = await freePorts(5);
  const node = { name: 'restate', index: 0, ports: { ingress, admin, fabric } };
  const writeCertificate = ({ certificate, key }: ServerCertificate): Promise<void> =>
    writeFile(file('proxy.pem'), certificate + key, { mode: 0o600 });
  ensureIdentityKey(file('identity.pem'));
  const toml = { node, peers: [node], clustered: false, home: folder, keyFile: file('identity.pem') };
  await Promise.all([
    writeFile(file('restate.toml'), renderRestateToml(toml)),
    writeFile(file('ca.pem'), options.ca),
    writeFile(file('test.cfg'), 'global\n'),
    writeCertificate(options.tls),
  ]);
  const plainAdminUrl = `http://127.0.0.1:${admin}`;
  const server = await startCommand({
    ...restateCommand(file('restate.toml')),
    ...{
      name: 'restate',
      env: { SSL_CERT_FILE: file('ca.pem') },
      folder,
      readyUrl: `${plainAdminUrl}/health`,
    },
  });
  const proxy = await startCommand({
    ...restateProxyCommand({
      ingressBind: `127.0.0.1:${proxyIngress}`,
      adminBind: `127.0.0.1:${proxyAdmin}`,
      restateIngress: `127.0.0.1:${ingress}`,
      restateAdmin: `127.0.0.1:${admin}`,
      certificateFile: file('proxy.pem'),
      clientCaFile: file('ca.pem'),
      clientName: options.clientName,
      extraConfig: file('test.cfg'),
    }),
    ...{ name: 'restate-proxy', folder },
  });
  const untilServed = ({ fingerprint }: ServerCertificate): Promise<unknown> =>
    eventually({ what: 'the proxy to serve its certificate' }, async () =>
      (await Promise.all([proxyIngress, proxyAdmin].map(servedFingerprint))).every(
        (served) => served === fingerprint,
      ),
    );
  await untilServed(options.tls);
  return {
    ingressUrl: `https://127.0.0.1:${proxyIngress}`,
    adminUrl: `https://127.0.0.1:${proxyAdmin}`,
    plainAdminUrl,
    identityPublicKey: identityPublicKey(file('identity.pem')),
    replaceCertificate: async (tls) => {
      await writeCertificate(tls);
      process.kill(proxy.pid, 'SIGUSR2');
      await untilServed(tls);
    },
    [Symbol.asyncDispose]: async () => {
      await proxy.stop();
      await server.crash();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
