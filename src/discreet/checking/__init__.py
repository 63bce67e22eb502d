"""Every claim against small neighbours (exactly), and attacks by samples."""
