import { Enums, Models, Serialize, SPDX, Spec } from '@cyclonedx/cyclonedx-library';
import type { BundledPackage } from '@millrace/publish';
import { execFileSync } from 'node:child_process';
import { pinnedNode } from './install-tree.ts';

/** A component as CycloneDX names it. */
export interface Component {
  readonly name: string;
  readonly version: string;
  /** Package URL, which identifies it. */
  readonly purl: string;
  readonly license: string | null;
}

export interface SbomInput {
  readonly version: string;
  /** Time of the release, in seconds. */
  readonly time: number;
  readonly components: readonly Component[];
}

const MILLISECONDS = 1_000;

/** The components as a software bill of materials (SBOM) in CycloneDX 1.6. */
export function sbomOf({ version, time, components }: SbomInput): string {
  const sbom = new Models.Bom();
  sbom.metadata.timestamp = new Date(time * MILLISECONDS);
  sbom.metadata.component = new Models.Component(Enums.ComponentType.Application, 'millrace-server', {
    version,
    bomRef: `millrace-server@${version}`,
  });
  for (const each of components) sbom.components.add(componentOf(each));
  const format = new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6);
  // Without `sortLists` the order would be that of the bundler.
  const text = new Serialize.JsonSerializer(format).serialize(sbom, { sortLists: true, space: 2 });
  return `${text}\n`;
}

function componentOf({ name, version, purl, license }: Component): Models.Component {
  const component = new Models.Component(Enums.ComponentType.Library, name, { version, purl, bomRef: purl });
  if (license !== null) component.licenses.add(licenseOf(license));
  return component;
}

function licenseOf(license: string): Models.SpdxLicense | Models.LicenseExpression | Models.NamedLicense {
  const isKnown: boolean = SPDX.isSupportedSpdxId(license);
  if (isKnown) return new Models.SpdxLicense(license);
  return license.includes(' ') ? new Models.LicenseExpression(license) : new Models.NamedLicense(license);
}

export function npmComponent({ name, version, license }: BundledPackage): Component {
  // A package URL encodes the @ of a scope.
  return { name, version, license, purl: `pkg:npm/${name.replace(/^@/, '%40')}@${version}` };
}

export function nodeComponent(): Component {
  const { version } = pinnedNode();
  return { name: 'node', version, license: 'MIT', purl: `pkg:generic/node@${version}` };
}

/** The Debian packages in a file of `prepareRootfs`. */
export function debianComponents(rootfs: string): readonly Component[] {
  const text = execFileSync('tar', ['-xOf', rootfs, './var/lib/dpkg/status.d'], { encoding: 'utf8' });
  return text
    .split(/^(?=Package: )/m)
    .filter((entry) => entry !== '')
    .map((entry) => {
      const field = (name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(entry)?.[1] ?? '';
      const [name, version] = [field('Package'), field('Version')];
      const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${field('Architecture')}`;
      return { name, version, license: null, purl };
    });
}
