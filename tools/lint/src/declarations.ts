import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync } from '@swc/core';

/** Any node of swc's tree: its fields are walked without regard to their types. */
export interface TreeNode {
  readonly type?: string;
  readonly [field: string]: unknown;
}

/** A function, class or constant of a module, or (with an empty name) its other statements. */
export interface Declaration {
  readonly file: string;
  readonly name: string;
  readonly nodes: readonly TreeNode[];
}

interface Module {
  readonly file: string;
  readonly declarations: ReadonlyMap<string, Declaration>;
  /** Local name to the module and the name that it has there; the name `*` is the whole module. */
  readonly imports: ReadonlyMap<string, Reference>;
  readonly reExports: ReadonlyMap<string, Reference>;
  /** Files of `export * from`. */
  readonly starExports: readonly string[];
}

interface Reference {
  readonly file: string;
  readonly name: string;
}

const isObject = (value: unknown): value is TreeNode => typeof value === 'object' && value !== null;

/** Calls `onNode` for the node and everything in it. */
export function walk(node: unknown, onNode: (node: TreeNode) => void): void {
  if (Array.isArray(node)) {
    for (const item of node) walk(item, onNode);
    return;
  }
  if (!isObject(node)) return;
  if (
    node.type?.startsWith('Ts') === true &&
    ![
      'TsAsExpression',
      'TsSatisfiesExpression',
      'TsNonNullExpression',
      'TsConstAssertion',
      'TsParameterProperty',
    ].includes(node.type)
  )
    return;
  onNode(node);
  for (const value of Object.values(node)) if (isObject(value)) walk(value, onNode);
}

/** The declarations of a program that can run, beginning with everything in an entry module. */
export class Program {
  readonly #root: string;
  readonly #modules = new Map<string, Module>();

  constructor(root: string) {
    this.#root = root;
  }

  /**
   * Follows names, without types: everything in a function, class or constant that is named in reachable code counts as
   * reachable. So the result contains too much, for example all methods of a class, but nothing is missing.
   */
  reachableFrom(entry: string): readonly Declaration[] {
    const reached = new Set<Declaration>();
    const pending: Declaration[] = [];
    const add = (declaration: Declaration | undefined): void => {
      if (declaration === undefined || reached.has(declaration)) return;
      reached.add(declaration);
      pending.push(declaration);
    };
    const addModule = (file: string): void => {
      const { declarations, reExports, starExports } = this.#moduleOf(file);
      for (const declaration of declarations.values()) add(declaration);
      for (const reference of reExports.values()) add(this.#find(reference));
      for (const star of starExports) addModule(star);
    };
    addModule(path.resolve(this.#root, entry));
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      const module = this.#moduleOf(next.file);
      add(module.declarations.get(''));
      const { file } = next;
      walk(next.nodes, (node) => {
        const loaded = dynamicImportOf(node);
        const source = loaded === null ? null : this.#resolve(file, loaded);
        if (source !== null) addModule(source);
        if (node.type !== 'Identifier' || typeof node['value'] !== 'string') return;
        const name = node['value'];
        add(module.declarations.get(name));
        const imported = module.imports.get(name);
        if (imported?.name === '*') addModule(imported.file);
        else if (imported !== undefined) add(this.#find(imported));
      });
    }
    return [...reached];
  }

  #find({ file, name }: Reference): Declaration | undefined {
    const module = this.#moduleOf(file);
    const own = module.declarations.get(name);
    if (own !== undefined) return own;
    const forwarded = module.reExports.get(name) ?? module.imports.get(name);
    if (forwarded !== undefined) return this.#find(forwarded);
    for (const star of module.starExports) {
      const found = this.#find({ file: star, name });
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #moduleOf(file: string): Module {
    const known = this.#modules.get(file);
    if (known !== undefined) return known;
    const module = this.#read(file);
    this.#modules.set(file, module);
    return module;
  }

  #read(file: string): Module {
    const tree = parseSync(readFileSync(file, 'utf8'), { syntax: 'typescript', target: 'es2024' });
    const imports = new Map<string, Reference>();
    const reExports = new Map<string, Reference>();
    const starExports: string[] = [];
    const groups = new Map<string, TreeNode[]>();
    const put = (name: string, node: TreeNode): void => {
      groups.set(name, [...(groups.get(name) ?? []), node]);
    };
    for (const item of tree.body as unknown as readonly TreeNode[]) {
      const { type } = item;
      const source = isObject(item['source']) ? this.#resolve(file, String(item['source']['value'])) : null;
      if (type === 'ImportDeclaration') {
        if (source === null || item['typeOnly'] === true) continue;
        for (const specifier of item['specifiers'] as readonly TreeNode[]) {
          const local = nameOf(specifier['local']);
          const name =
            specifier.type === 'ImportNamespaceSpecifier' ? '*' : nameOf(specifier['imported']) || local;
          imports.set(local, { file: source, name });
        }
      } else if (type === 'ExportNamedDeclaration') {
        for (const specifier of item['specifiers'] as readonly TreeNode[]) {
          const name = nameOf(specifier['orig']);
          const exported = nameOf(specifier['exported']) || name;
          if (source !== null) reExports.set(exported, { file: source, name });
          else if (exported !== name) reExports.set(exported, { file, name });
        }
      } else if (type === 'ExportAllDeclaration') {
        if (source !== null) starExports.push(source);
      } else {
        const statement = type === 'ExportDeclaration' ? (item['declaration'] as TreeNode) : item;
        for (const name of declaredNames(statement)) put(name, statement);
      }
    }
    const declarations = new Map([...groups].map(([name, nodes]) => [name, { file, name, nodes }]));
    return { file, declarations, imports, reExports, starExports };
  }

  /** Null for packages of others. */
  #resolve(file: string, specifier: string): string | null {
    if (specifier.startsWith('.')) {
      const target = path.resolve(path.dirname(file), specifier);
      return target.endsWith('.ts') ? target : null;
    }
    const [, name, rest = ''] = /^@millrace\/([^/]+)(\/.*)?$/.exec(specifier) ?? [];
    if (name === undefined) return null;
    const folder = path.join(this.#root, 'packages', name);
    if (!existsSync(folder)) return null;
    const { exports } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as {
      exports?: Readonly<Record<string, string>>;
    };
    const target = exports?.[`.${rest}`];
    return target?.endsWith('.ts') === true ? path.join(folder, target) : null;
  }
}

/** The module of `import('…')`. */
function dynamicImportOf(node: TreeNode): string | null {
  if (node.type !== 'CallExpression' || (node['callee'] as TreeNode).type !== 'Import') return null;
  const [first] = node['arguments'] as readonly { readonly expression: TreeNode }[];
  return first?.expression.type === 'StringLiteral' ? nameOf(first.expression) : null;
}

function nameOf(node: unknown): string {
  return isObject(node) && typeof node['value'] === 'string' ? node['value'] : '';
}

function declaredNames(statement: TreeNode): readonly string[] {
  switch (statement.type) {
    case 'FunctionDeclaration':
    case 'ClassDeclaration':
      return [nameOf(statement['identifier'])];
    case 'VariableDeclaration': {
      const names: string[] = [];
      for (const { id } of statement['declarations'] as readonly { readonly id: unknown }[]) {
        walk(id, (node) => {
          if (node.type === 'Identifier') names.push(nameOf(node));
        });
      }
      return names;
    }
    default:
      return statement.type?.startsWith('Ts') === true ? [] : [''];
  }
}
