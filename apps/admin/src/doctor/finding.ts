import { dirname } from 'node:path';
import { findingKinds, type FindingId } from './finding-kinds.ts';

export interface Finding {
  readonly id: FindingId;
  /** A server, a process, a cluster or a file. */
  readonly component: string;
  /** The problem in this installation, without secrets. */
  readonly problem: string;
  readonly remedy: string;
  /**
   * Findings that would explain this one, as `id@component`; an asterisk stands for any text. If one of them was found, this one
   * is not reported.
   */
  readonly causes: readonly string[];
}

export function finding(
  id: FindingId,
  component: string,
  problem: string,
  values: Readonly<Record<string, string>> = {},
  causes: readonly string[] = [],
): Finding {
  const remedy = findingKinds[id].remedy.replaceAll(
    /\{(\w+)\}/g,
    (whole, name: string) => values[name] ?? whole,
  );
  return { id, component, problem, remedy, causes };
}

export function unresponsiveFolder(path: string): Finding {
  const causes = [`folder-unresponsive@${dirname(path)}`];
  return finding('folder-unresponsive', path, `${path} does not respond.`, { path }, causes);
}

/** The findings that no other finding explains, each once. */
export function withoutConsequences(findings: readonly Finding[]): readonly Finding[] {
  const unique = new Map(findings.map((each) => [`${each.id}@${each.component}@${each.problem}`, each]));
  const all = [...unique.values()];
  return all.filter(
    (each) => !all.some((other) => other !== each && each.causes.some((cause) => matches(cause, other))),
  );
}

function matches(cause: string, { id, component }: Finding): boolean {
  const [idPattern = '', componentPattern = '*'] = cause.split('@');
  return matchesPattern(idPattern, id) && matchesPattern(componentPattern, component);
}

function matchesPattern(pattern: string, text: string): boolean {
  return pattern.endsWith('*') ? text.startsWith(pattern.slice(0, -1)) : pattern === text;
}
