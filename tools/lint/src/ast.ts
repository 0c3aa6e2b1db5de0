/** The few node types that the house rules inspect. Oxlint passes ESTree nodes but publishes no types for them. */
export interface Node {
  readonly type: string;
  readonly parent?: Node | null;
}

export interface Identifier extends Node {
  readonly type: 'Identifier';
  readonly name: string;
}

export interface Member extends Node {
  readonly type: 'MemberExpression';
  readonly object: Node;
  readonly property: Node;
  readonly computed: boolean;
}

export interface Call extends Node {
  readonly type: 'CallExpression' | 'NewExpression';
  readonly callee: Node;
  readonly arguments: readonly Node[];
}

export interface Operation extends Node {
  readonly operator: string;
}

export interface ImportDeclaration extends Node {
  readonly source: { readonly value: string };
  readonly specifiers: readonly Node[];
}

export interface Comment {
  readonly type: string;
  readonly value: string;
}

interface Scope {
  readonly upper: Scope | null;
  readonly set: ReadonlyMap<string, { readonly defs: readonly unknown[] }>;
}

export interface RuleContext {
  readonly filename: string;
  readonly sourceCode: {
    getAllComments(): readonly Comment[];
    getScope(node: Node): Scope;
  };
  report(problem: { node: Node | Comment; message: string }): void;
}

export type Visitor = Readonly<Record<string, (node: never) => void>>;

export interface Rule {
  readonly meta: { readonly type: 'problem'; readonly docs: { readonly description: string } };
  create(context: RuleContext): Visitor;
}

export function isIdentifier(node: Node | undefined | null, name?: string): node is Identifier {
  return node?.type === 'Identifier' && (name === undefined || (node as Identifier).name === name);
}

export function isMember(node: Node | undefined | null): node is Member {
  return node?.type === 'MemberExpression';
}

/** The name of `object.name` and `object['name']`; undefined if it is computed at run time. */
export function propertyName(member: Member): string | undefined {
  if (!member.computed) return isIdentifier(member.property) ? member.property.name : undefined;
  const literal = member.property as { type: string; value?: unknown };
  return literal.type === 'Literal' && typeof literal.value === 'string' ? literal.value : undefined;
}

/** Whether this file declares the name, which then is not the global. */
function isDeclaredHere(context: RuleContext, identifier: Identifier): boolean {
  for (let scope: Scope | null = context.sourceCode.getScope(identifier); scope; scope = scope.upper) {
    const variable = scope.set.get(identifier.name);
    if (variable && variable.defs.length > 0) return true;
  }
  return false;
}

/** Matches `process` and `globalThis.process`. */
export function isGlobal(context: RuleContext, node: Node | undefined | null, name: string): boolean {
  if (isIdentifier(node, name)) return !isDeclaredHere(context, node);
  return isMember(node) && propertyName(node) === name && isIdentifier(node.object, 'globalThis');
}
