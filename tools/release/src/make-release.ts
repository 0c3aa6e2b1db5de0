import { sdkPackage, stageCli, stagePackage } from '@millrace/publish';
import { productFolder } from '@millrace/platform/release';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { sbomOf, debianComponents, nodeComponent, npmComponent, type Component } from './sbom.ts';
import { IMAGE_NAME, imageOf, makeContainerImage } from './container-image.ts';
import { debianRootfs, requireRootfs } from './debian-rootfs.ts';
import { makeDebianPackage } from './debian-package.ts';
import { signChecksums, writeChecksums } from './signatures.ts';
import { stageServer } from './stage-server.ts';

export interface ReleaseInput {
  readonly into: string;
  /** Time of all files, in seconds. */
  readonly time: number;
  /** File with a secret key of minisign; null: the release is not signed. */
  readonly secretKey: string | null;
  readonly print: (text: string) => void;
}

/** Writes every file of a release to `into`, which must be absent or empty. */
export async function makeRelease({ into, time, secretKey, print }: ReleaseInput): Promise<void> {
  if (fs.existsSync(into) && fs.readdirSync(into).length > 0) {
    throw new Error(`${into} is not empty. Delete it, or pass --into with another folder.`);
  }
  const rootfs = requireRootfs(debianRootfs().image);
  fs.mkdirSync(into, { recursive: true });
  const scratch = fs.mkdtempSync(`${into}.partial-`);
  try {
    const server = path.join(scratch, 'server');
    const cli = path.join(scratch, 'cli');
    const sdk = path.join(scratch, 'sdk');
    const staged = await stageServer(server);
    const { version, commit } = staged;
    const components = [...staged.packages, ...(await stageCli(cli))].map(npmComponent);
    components.push(nodeComponent());
    await stagePackage(sdkPackage, sdk);
    print('programs');
    for (const folder of [cli, sdk]) packNpm(folder, into);
    print('npm packages');
    makeDebianPackage({ version, server, cli, time, into });
    print('Debian package');
    makeContainerImage({ version, commit, server, cli, rootfs, time, into });
    print('container image');
    const writeSbom = (name: string, content: readonly Component[]): void =>
      fs.writeFileSync(
        path.join(into, `millrace-server_${version}_${name}.cdx.json`),
        sbomOf({ version, time, components: content }),
      );
    writeSbom('amd64', components);
    writeSbom('oci', [...components, ...debianComponents(rootfs)]);
    print('SBOMs');
    const compose = fs.readFileSync(path.join(productFolder, 'deploy/compose/compose.yaml'), 'utf8');
    fs.writeFileSync(
      path.join(into, 'compose.yaml'),
      compose.replace(`${IMAGE_NAME}:VERSION`, imageOf(version)),
    );
    const checksums = writeChecksums(into);
    if (secretKey !== null) signChecksums(checksums, secretKey, version);
    print(secretKey === null ? 'checksums, not signed' : 'checksums and their signature');
  } finally {
    fs.rmSync(scratch, { recursive: true, force: true });
  }
}

/** npm gives all files of a package one fixed time. */
function packNpm(folder: string, into: string): void {
  execFileSync('npm', ['pack', '--silent', '--pack-destination', into, folder], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}
