/** One entry of the machine's apt configuration. */
export interface AptSource {
  readonly uris: readonly string[];
  readonly suites: readonly string[];
  readonly components: readonly string[];
  /** Keyring path, or an inline key in deb822 form with its leading spaces. */
  readonly signedBy?: string;
}

export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/** Parses both formats of apt: deb822 (`.sources`) and one entry per line (`.list`). */
export function parseAptSources(files: readonly SourceFile[]): AptSource[] {
  return files.flatMap((file) =>
    file.path.endsWith('.sources') ? parseDeb822(file.text) : parseOneLine(file.text),
  );
}

function parseDeb822(text: string): AptSource[] {
  return text
    .split(/\n\s*\n/u)
    .map(stanzaFields)
    .filter((fields) => words(fields.get('types')).includes('deb') && fields.get('enabled') !== 'no')
    .map((fields) => {
      const signedBy = fields.get('signed-by');
      return {
        uris: words(fields.get('uris')),
        suites: words(fields.get('suites')),
        components: words(fields.get('components')),
        ...(signedBy === undefined ? {} : { signedBy }),
      };
    });
}

/** A field may contain comment lines; continuation lines start with a space. */
function stanzaFields(stanza: string): Map<string, string> {
  const fields = new Map<string, string>();
  let current: string | undefined;
  for (const line of stanza.split('\n')) {
    if (line.startsWith('#')) continue;
    if (/^\s/u.test(line) && current !== undefined) {
      fields.set(current, `${fields.get(current) ?? ''}\n${line}`);
      continue;
    }
    const colon = line.indexOf(':');
    if (colon < 0) continue;
    current = line.slice(0, colon).trim().toLowerCase();
    fields.set(current, line.slice(colon + 1).trim());
  }
  return fields;
}

function words(value: string | undefined): string[] {
  return (value ?? '').split(/\s+/u).filter((word) => word !== '');
}

const oneLine = /^deb\s+(?:\[(?<options>[^\]]*)\]\s+)?(?<uri>\S+)\s+(?<suite>\S+)\s*(?<components>.*)$/u;

function parseOneLine(text: string): AptSource[] {
  return text.split('\n').flatMap((raw) => {
    const groups = oneLine.exec(raw.replace(/#.*$/u, '').trim())?.groups;
    if (groups === undefined) return [];
    const signedBy = /signed-by=(\S+)/u.exec(groups['options'] ?? '')?.[1];
    return [
      {
        uris: words(groups['uri']),
        suites: words(groups['suite']),
        components: words(groups['components']),
        ...(signedBy === undefined ? {} : { signedBy }),
      },
    ];
  });
}

/**
 * The machine's entries for its Debian release and one more suite from the same mirror, or null without such a mirror. A broken
 * third-party repository cannot stop the installation, because all other entries are left out.
 */
export function deriveSources(
  sources: readonly AptSource[],
  codename: string,
  extraSuite: string | null,
): AptSource[] | null {
  const suitesOfRelease = (source: AptSource): string[] =>
    source.suites.filter((suite) => suite === codename || suite.startsWith(`${codename}-`));
  const own = sources
    .filter((source) => source.components.includes('main') && suitesOfRelease(source).length > 0)
    .map((source) => ({ ...source, suites: suitesOfRelease(source), components: ['main'] }));
  const mirror = own.find((source) => source.suites.includes(codename));
  if (mirror === undefined) return null;
  if (extraSuite === null || own.some((source) => source.suites.includes(extraSuite))) return own;
  return [...own, { ...mirror, suites: [extraSuite] }];
}

/** Only the given suite, from the machine's mirror. */
export function deriveSuite(
  sources: readonly AptSource[],
  codename: string,
  suite: string,
): AptSource[] | null {
  return (
    deriveSources(sources, codename, suite)
      ?.filter((source) => source.suites.includes(suite))
      .map((source) => ({ ...source, suites: [suite] })) ?? null
  );
}

export function renderSources(sources: readonly AptSource[]): string {
  const stanzas = sources.map((source) =>
    [
      'Types: deb',
      `URIs: ${source.uris.join(' ')}`,
      `Suites: ${source.suites.join(' ')}`,
      `Components: ${source.components.join(' ')}`,
      ...(source.signedBy === undefined ? [] : [`Signed-By: ${source.signedBy}`]),
    ].join('\n'),
  );
  return `${stanzas.join('\n\n')}\n`;
}

/** An apt configuration that reads only our sources and keeps separate package lists. */
export function renderAptConf(folder: string): string {
  return [
    `Dir::Etc::sourcelist "${folder}/millrace.sources";`,
    'Dir::Etc::sourceparts "/dev/null";',
    `Dir::State::lists "${folder}/lists";`,
    'Dir::Cache::pkgcache "";',
    'Dir::Cache::srcpkgcache "";',
    'DPkg::Lock::Timeout "600";',
    'Acquire::Languages "none";',
    'APT::Install-Recommends "false";',
    '',
  ].join('\n');
}
