import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** The api serves the result below /console/; while developing, `npm run console:dev` asks the api that `npm run dev` started. */
const api = process.env['MILLRACE_API_URL'] ?? 'http://127.0.0.1:8080';

// Vite takes its settings from a default export.
export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  plugins: [react(), tailwindcss()],
  build: {
    target: 'es2022',
    manifest: true,
    // The policy of the pages allows no inline data but pictures, and small files are cheap over one connection.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        // What every page needs and what changes with React alone is kept apart, so that a release of ours keeps it cached.
        codeSplitting: {
          groups: [
            { name: 'react', test: /node_modules\/(?:react|react-dom|scheduler)\// },
            { name: 'tanstack', test: /node_modules\/@tanstack\// },
          ],
        },
      },
    },
  },
  server: {
    proxy: Object.fromEntries(['/v1', '/v2', '/auth', '/docs', '/openapi'].map((path) => [path, api])),
  },
});
