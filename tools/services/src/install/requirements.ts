/** Something that an engine needs on the machine before it can start, and how to install it. */
export type Requirement =
  /** Installed into the system with apt, from the release or its backports. */
  | {
      readonly kind: 'packages';
      readonly from: 'release' | 'backports';
      readonly packages: readonly string[];
    }
  /** Downloaded from another suite and unpacked into one folder; the system stays unchanged. */
  | {
      readonly kind: 'unpack';
      readonly suite: string;
      readonly packages: readonly string[];
      readonly folder: string;
    }
  /** A dependency of this repository. */
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
