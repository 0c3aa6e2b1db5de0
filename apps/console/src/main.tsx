import './styles.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App, firstPage } from './app.tsx';
import { followTheme } from './app/theme.ts';

followTheme();
const root = document.querySelector('#root');
if (root === null) throw new Error('index.html has no #root element.');
// No top-level await: the bundler would move what pages share with this file to many small files.
void firstPage.then(() =>
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  ),
);
