import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

/** API that the development server proxies to; `npm run dev` starts it. */
const api = process.env['MILLRACE_API_URL'] ?? 'http://127.0.0.1:8080';

/** Preloads the font of nearly all texts, so that it arrives before the first of them, and adds its licence to the build. */
function bundleFont(): Plugin {
  return {
    name: 'millrace:font',
    apply: 'build',
    generateBundle() {
      const licence = fileURLToPath(import.meta.resolve('@fontsource-variable/inter/LICENSE'));
      this.emitFile({ type: 'asset', fileName: 'inter-font-licence.txt', source: readFileSync(licence) });
    },
    transformIndexHtml: {
      order: 'post',
      handler: (_html, { bundle = {} }) => {
        const font = Object.keys(bundle).find((file) => /\/inter-latin-wght-normal-[^/]*\.woff2$/.test(file));
        if (font === undefined) throw new Error('The build has no font to preload.');
        const attrs = {
          rel: 'preload',
          href: `/console/${font}`,
          as: 'font',
          type: 'font/woff2',
          crossorigin: '',
        };
        return [{ tag: 'link', attrs, injectTo: 'head-prepend' }];
      },
    },
  };
}

/** Pages that people open first, by their route. The api names their files in the response with the HTML. */
const preloadedPages: Readonly<Record<string, string>> = {
  overview: 'features/overview/overview-page.tsx',
  catalog: 'features/catalog/catalog-page.tsx',
  rentals: 'features/rentals/list/rentals-page.tsx',
  'rentals/$rentalId': 'features/rentals/detail/rental-page.tsx',
  playground: 'features/playground/playground-page.tsx',
};

/** Lists the files of these pages, so that they load together with the entry instead of after it. */
function listPreloads(): Plugin {
  return {
    name: 'millrace:preloads',
    apply: 'build',
    generateBundle(_, bundle) {
      const chunks = Object.values(bundle).filter((file) => file.type === 'chunk');
      const withImports = (file: string, known: ReadonlySet<string>): ReadonlySet<string> => {
        const { imports = [] } = chunks.find(({ fileName }) => fileName === file) ?? {};
        return imports.reduce(
          (all, next) => (all.has(next) ? all : withImports(next, all)),
          new Set([...known, file]) as ReadonlySet<string>,
        );
      };
      const filesOf = (source: string): ReadonlySet<string> => {
        const chunk = chunks.find(
          ({ facadeModuleId }) => facadeModuleId?.endsWith(`/src/${source}`) === true,
        );
        if (chunk === undefined) throw new Error(`The build has no chunk of ${source}.`);
        return withImports(chunk.fileName, new Set());
      };
      const entry = chunks.find(({ isEntry }) => isEntry);
      // The HTML itself names the entry and its imports.
      const named = withImports(entry?.fileName ?? '', new Set());
      const pages = Object.entries(preloadedPages).map(([route, source]) => [
        route,
        [...filesOf(source)].filter((file) => !named.has(file)),
      ]);
      this.emitFile({
        type: 'asset',
        fileName: '.preloads.json',
        source: JSON.stringify(Object.fromEntries(pages)),
      });
    },
  };
}

/** Lists the modules of packages that the build contains. The release names these packages. */
function listModules(): Plugin {
  const root = fileURLToPath(new URL('../../', import.meta.url));
  return {
    name: 'millrace:modules',
    apply: 'build',
    generateBundle(_, bundle) {
      const ids = Object.values(bundle).flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
      const files = ids
        .filter((id) => id.startsWith(`${root}node_modules/`))
        .map((id) => id.slice(root.length));
      this.emitFile({
        type: 'asset',
        fileName: '.modules.json',
        source: JSON.stringify([...new Set(files)].toSorted()),
      });
    },
  };
}

/** Serves the page of all tokens and components at /design, only by the development server. */
function designPage(): Plugin {
  return {
    name: 'millrace:design-page',
    apply: 'serve',
    configureServer: ({ middlewares }) => {
      middlewares.use((request, _response, next) => {
        if (/^(\/console)?\/design\/?$/.test(request.url ?? '')) request.url = '/console/design.html';
        next();
      });
    },
  };
}

export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  plugins: [react(), tailwindcss(), bundleFont(), listPreloads(), listModules(), designPage()],
  build: {
    target: 'es2022',
    manifest: true,
    // The content security policy allows inline data only for images.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        // Separate chunks for libraries stay cached across our releases.
        codeSplitting: {
          groups: [
            { name: 'react', test: /node_modules\/(?:react|react-dom|scheduler)\// },
            { name: 'tanstack', test: /node_modules\/@tanstack\// },
            // What many pages use, in one file: a browser loads six files at a time.
            { name: 'common', test: /apps\/console\/src\/|node_modules\//, minShareCount: 4 },
            // Small files that the pages which users open first share. Together they need one request instead of ten.
            {
              name: 'common',
              test: /event-types|\/(?:budgets|runway|rental-state|volume-state|attention|attention-items|checklist|hourly-cost|step-list|chart)\.tsx?|lucide/,
              minShareCount: 2,
            },
          ],
        },
      },
    },
  },
  server: {
    proxy: Object.fromEntries(
      ['/v1', '/v2', '/auth', '/docs', '/openapi', '/status'].map((path) => [path, api]),
    ),
  },
});
