/** Something that must be on the machine before an engine can start, and how it gets there. */
export type Requirement =
  /** Installed into the system with apt, from the release itself or from its backports. */
  | {
      readonly kind: 'packages';
      readonly from: 'release' | 'backports';
      readonly packages: readonly string[];
    }
  /** Fetched with apt from another suite and unpacked together into a folder of their own; the system stays as it is. */
  | {
      readonly kind: 'unpack';
      readonly suite: string;
      readonly packages: readonly string[];
      readonly folder: string;
    }
  /** Part of this repository's own dependencies. */
  | { readonly kind: 'npm'; readonly package: string };

export function describeRequirement(need: Requirement): string {
  switch (need.kind) {
    case 'packages':
      return need.packages.join(', ');
    case 'unpack':
      return `${need.packages.join(', ')} (from Debian ${need.suite})`;
    case 'npm':
      return `npm package ${need.package}`;
  }
}
